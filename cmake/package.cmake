# cpack -G DEB --config build/release/CPackConfig.cmake: one package with program, library, pages,
# completion.
set(CPACK_PACKAGE_NAME swipr)
set(CPACK_PACKAGE_CONTACT "swipr maintainers <maintainers@swipr.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "sampling profiler that works inside the recorded program")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
# The preload is found by its bare name once the loader's cache knows it.
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/triggers)
include(CPack)
