#include "orchestrator/interface.h"

#include <string.h>

#ifdef CARILLON_WITH_INTERFACE
#include "ui/assets.h"

static bool accepts_gzip(const struct http_request *request)
{
    const char *header = http_header(request, "Accept-Encoding");
    const char *found = header ? strstr(header, "gzip") : NULL;
    return found && strncmp(found, "gzip;q=0", 8) != 0;
}

bool interface_serve(const struct http_request *request, struct http_response *response)
{
    static const char *const ours[] = {"/healthz", "/readyz", "/metrics", "/api"};
    const char *path = request->path;
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        size_t length = strlen(ours[i]);
        if (!strncmp(path, ours[i], length) && (!path[length] || path[length] == '/'))
            return false;
    }
    if (strcmp(request->method, "GET") != 0 && strcmp(request->method, "HEAD") != 0)
        return false;
    const struct ui_asset *asset = ui_asset_find_encoded(path, accepts_gzip(request));
    if (!asset)
        return false;
    const char *seen = http_header(request, "If-None-Match");
    http_response_header(response, "ETag", "%s", asset->etag);
    http_response_header(response, "Vary", "Accept-Encoding");
    http_response_header(response, "Cache-Control", "%s", asset->cache_control);
    http_response_header(response, "Content-Security-Policy", "%s", UI_CONTENT_SECURITY_POLICY);
    http_response_header(response, "Referrer-Policy", "no-referrer");
    http_response_header(response, "X-Frame-Options", "DENY"); /* for browsers that do not know frame-ancestors */
    http_response_header(response, "Cross-Origin-Opener-Policy", "same-origin");
    response->content_type = asset->content_type;
    if (seen && strstr(seen, asset->etag)) {
        response->status = 304;
        return true;
    }
    if (asset->gzip)
        http_response_header(response, "Content-Encoding", "gzip");
    response->static_body = asset->bytes;
    response->static_length = asset->length;
    return true;
}
#else
bool interface_serve(const struct http_request *request, struct http_response *response)
{
    (void)request;
    (void)response;
    return false;
}
#endif
