# Compiles HIP sources to gfx950 code objects, with ROCm's hipcc where there is one that knows gfx950, and otherwise with
# plain clang, the HIP headers and the device libraries of the distribution.
#
#   mhcheck_add_code_object(OUTPUT <file> SOURCE <file> [FLAGS <flag>...] [DEPENDS <file>...])
#
# Sources that include no HIP header compile as CUDA too, to PTX, which an NVIDIA driver finishes. Neither a driver nor
# the CUDA toolkit takes part:
#
#   mhcheck_add_ptx(OUTPUT <file> SOURCE <file> ARCHITECTURE <sm_NN> [DEPENDS <file>...])
#
# OUTPUT is relative to the current binary directory; a target that uses it lists it among its sources or DEPENDS.

find_program(MHCHECK_HIPCC hipcc PATHS /opt/rocm/bin DOC "ROCm's HIP compiler; takes precedence when it knows gfx950")
find_program(MHCHECK_HIP_CLANG NAMES clang++-22 clang++ DOC "clang with the AMDGPU target, for HIP without ROCm")
find_path(MHCHECK_HIP_INCLUDE hip/hip_runtime.h PATHS /opt/rocm/include DOC "Where the HIP headers are")
find_path(MHCHECK_DEVICE_LIBRARIES ockl.bc
  PATHS /usr/lib/x86_64-linux-gnu/amdgcn/bitcode /usr/lib/aarch64-linux-gnu/amdgcn/bitcode /opt/rocm/amdgcn/bitcode
  NO_DEFAULT_PATH DOC "Where the bitcode of ROCm's device libraries is")

# Older ones, the distribution's among them, come with a clang that has never heard of gfx950.
set(hipcc_compile ${MHCHECK_HIPCC} --genco --offload-arch=gfx950 --no-gpu-bundle-output)
if(MHCHECK_HIPCC AND NOT DEFINED MHCHECK_HIPCC_KNOWS_GFX950)
  set(probe ${CMAKE_CURRENT_BINARY_DIR}/hipcc_probe)
  file(WRITE ${probe}.hip "#include <hip/hip_runtime.h>\n__global__ void probe() {}\n")
  execute_process(COMMAND ${hipcc_compile} ${probe}.hip -o ${probe}.hsaco
    RESULT_VARIABLE exit_code OUTPUT_QUIET ERROR_QUIET)
  if(exit_code EQUAL 0)
    set(MHCHECK_HIPCC_KNOWS_GFX950 ON CACHE INTERNAL "")
  else()
    set(MHCHECK_HIPCC_KNOWS_GFX950 OFF CACHE INTERNAL "")
    message(STATUS "${MHCHECK_HIPCC} does not compile for gfx950: clang does instead")
  endif()
endif()

if(MHCHECK_HIPCC_KNOWS_GFX950)
  set(MHCHECK_HIP_COMPILE ${hipcc_compile})
elseif(MHCHECK_HIP_CLANG AND MHCHECK_HIP_INCLUDE AND MHCHECK_DEVICE_LIBRARIES)
  # Given to clang by hand: without -nogpulib it would look for libraries of its own age. gfx950 shares its device
  # library with gfx940.
  set(bitcode_flags)
  foreach(library hip ockl ocml oclc_isa_version_940 oclc_abi_version_500 oclc_correctly_rounded_sqrt_on
                  oclc_daz_opt_off oclc_finite_only_off oclc_unsafe_math_off oclc_wavefrontsize64_on)
    list(APPEND bitcode_flags -Xclang -mlink-builtin-bitcode -Xclang ${MHCHECK_DEVICE_LIBRARIES}/${library}.bc)
  endforeach()
  set(MHCHECK_HIP_COMPILE ${MHCHECK_HIP_CLANG} -x hip --offload-arch=gfx950 --cuda-device-only --no-gpu-bundle-output
    -nogpulib -I${MHCHECK_HIP_INCLUDE} -D__HIP_PLATFORM_AMD__ -D__AMDGCN_WAVEFRONT_SIZE=64 ${bitcode_flags})
else()
  message(FATAL_ERROR "No compiler for gfx950: install ROCm, or the packages clang-22, lld-22, libamdhip64-dev and "
    "rocm-device-libs (clang: ${MHCHECK_HIP_CLANG}, headers: ${MHCHECK_HIP_INCLUDE}, device libraries: "
    "${MHCHECK_DEVICE_LIBRARIES})")
endif()

function(mhcheck_add_code_object)
  cmake_parse_arguments(arg "" "OUTPUT;SOURCE" "FLAGS;DEPENDS" ${ARGN})
  get_filename_component(source ${arg_SOURCE} ABSOLUTE)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${arg_OUTPUT})
  add_custom_command(OUTPUT ${output}
    COMMAND ${MHCHECK_HIP_COMPILE} -std=c++20 -I${PROJECT_SOURCE_DIR} ${arg_FLAGS} ${source} -o ${output}
    DEPENDS ${source} ${arg_DEPENDS}
    COMMENT "Compiling ${arg_SOURCE} for gfx950 to ${arg_OUTPUT}"
    VERBATIM)
endfunction()

function(mhcheck_add_ptx)
  cmake_parse_arguments(arg "" "OUTPUT;SOURCE;ARCHITECTURE" "DEPENDS" ${ARGN})
  if(NOT MHCHECK_HIP_CLANG)
    message(FATAL_ERROR "No compiler for PTX: install the package clang-22")
  endif()
  get_filename_component(source ${arg_SOURCE} ABSOLUTE)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${arg_OUTPUT})
  # PTX 7.8 is the first that knows sm_90. Without a path clang would look for a toolkit and take its version for PTX's.
  add_custom_command(OUTPUT ${output}
    COMMAND ${MHCHECK_HIP_CLANG} -x cuda --cuda-gpu-arch=${arg_ARCHITECTURE} --cuda-device-only -nocudainc -nocudalib
            --cuda-path=/nonexistent --cuda-feature=+ptx78 -std=c++20 -I${PROJECT_SOURCE_DIR} -O3 -S ${source} -o ${output}
    DEPENDS ${source} ${arg_DEPENDS}
    COMMENT "Compiling ${arg_SOURCE} for ${arg_ARCHITECTURE} to ${arg_OUTPUT}"
    VERBATIM)
endfunction()
