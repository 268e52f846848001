# cmake -DDIST=<folder> -DOUT=<folder> -P embed.cmake
# Writes OUT/assets_table.c: every file below DIST, and a gzip form where that saves something. The bytes come in by
# .incbin, so that the compiler never reads a megabyte of numbers. Hashes in the table change with the bytes, so the
# object is rebuilt exactly when a file changes.
cmake_minimum_required(VERSION 3.25)

set(types
  "html=text/html" "js=text/javascript" "css=text/css"
  "svg=image/svg+xml" "json=application/json" "webmanifest=application/manifest+json" "png=image/png"
  "ico=image/x-icon" "woff2=font/woff2" "txt=text/plain")
set(packed_types html js css svg json webmanifest txt)
set(packed_least 1024) # below this one packet carries either form

file(GLOB_RECURSE files LIST_DIRECTORIES false RELATIVE ${DIST} ${DIST}/*)
list(FILTER files EXCLUDE REGEX "\\.map$")
list(SORT files COMPARE STRING CASE SENSITIVE)
if(NOT "index.html" IN_LIST files)
  message(FATAL_ERROR "embed: no index.html in ${DIST}")
endif()
file(REMOVE_RECURSE ${OUT}/packed)
file(MAKE_DIRECTORY ${OUT}/packed)

set(blobs "")
set(rows "")
set(index 0)

# One .incbin; its address is the symbol `name`.
macro(blob name file)
  string(APPEND blobs
    "__asm__(\".pushsection .rodata\\n.balign 16\\n.hidden ${name}\\n.global ${name}\\n\"\n"
    "        \"${name}:\\n.incbin \\\"${file}\\\"\\n.byte 0\\n.popsection\\n\");\n"
    "extern const unsigned char ${name}[];\n")
endmacro()

foreach(file IN LISTS files)
  get_filename_component(suffix ${file} LAST_EXT)
  string(REPLACE "." "" suffix "${suffix}")
  set(type "application/octet-stream")
  foreach(pair IN LISTS types)
    if(pair MATCHES "^${suffix}=(.*)$")
      set(type "${CMAKE_MATCH_1}")
    endif()
  endforeach()
  if(type MATCHES "^text/")
    string(APPEND type "; charset=utf-8")
  endif()
  if(file MATCHES "^assets/")
    set(cache "public, max-age=31536000, immutable")
  else()
    set(cache "no-cache")
  endif()

  file(SHA256 ${DIST}/${file} hash)
  string(SUBSTRING ${hash} 0 20 hash)
  file(SIZE ${DIST}/${file} size)
  blob(ui_blob_${index} ${DIST}/${file})
  string(APPEND rows
    "    {.plain = {\"/${file}\", \"${type}\", \"\\\"${hash}\\\"\", \"${cache}\", ui_blob_${index}, ${size}, false}")

  if(suffix IN_LIST packed_types AND size GREATER_EQUAL packed_least)
    set(packed ${OUT}/packed/${index}.gz)
    file(ARCHIVE_CREATE OUTPUT ${packed} PATHS ${DIST}/${file} FORMAT raw COMPRESSION GZip COMPRESSION_LEVEL 9)
    file(SIZE ${packed} packed_size)
    if(packed_size LESS size)
      blob(ui_blob_${index}_gz ${packed})
      string(APPEND rows
        ",\n     .packed = {\"/${file}\", \"${type}\", \"\\\"${hash}-gz\\\"\", \"${cache}\", ui_blob_${index}_gz, ${packed_size}, true}")
    endif()
  endif()
  string(APPEND rows "},\n")
  math(EXPR index "${index} + 1")
endforeach()

file(WRITE ${OUT}/assets_table.c
  "/* Written by ui/embed/embed.cmake. */\n#include \"ui/assets_table.h\"\n\n${blobs}\n"
  "const struct ui_asset_forms ui_asset_table[] = {\n${rows}};\n"
  "const size_t ui_asset_table_size = ${index};\n")
message(STATUS "embed: ${index} files of the web interface")
