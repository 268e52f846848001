# cmake -DIN=file -DOUT=file.c -P embed.cmake: the bytes of a file as a C array `openapi_json`, with its length.
file(READ ${IN} hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
file(WRITE ${OUT} "#include \"orchestrator/openapi.h\"\n\nconst unsigned char openapi_json[] = {\n${bytes}\n};\nconst size_t openapi_json_length = sizeof openapi_json;\n")
