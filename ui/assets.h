/* The web interface as bytes in the binary. Everything here is constant for the life of the process, safe to use from
 * any thread, and owned by nobody.
 *
 * A server answers a GET (or HEAD) whose path is outside /api so:
 *
 *     const struct ui_asset *asset = ui_asset_find_encoded(path, accepts_gzip); // path without query, starting with
 * '/' if (!asset)            → 404 (only paths below /assets/ and /api/ can miss) Content-Type: asset->content_type
 * ETag: asset->etag       (If-None-Match equal → 304) Content-Encoding: gzip                   when asset->gzip Vary:
 * Accept-Encoding                    always Cache-Control: asset->cache_control Content-Security-Policy:
 * UI_CONTENT_SECURITY_POLICY
 */
#ifndef CARILLON_UI_ASSETS_H
#define CARILLON_UI_ASSETS_H

#include <stdbool.h>
#include <stddef.h>

/* All that the interface needs, and nothing else: no inline script, no inline style sheet, no other host. */
#define UI_CONTENT_SECURITY_POLICY                                                                     \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " \
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

struct ui_asset {
    const char *path;           /* "/index.html", "/assets/index-4f2a.js" */
    const char *content_type;   /* "text/html; charset=utf-8" */
    const char *etag;           /* with its quotes; differs between the plain and the compressed form */
    const char *cache_control;  /* a year for hashed names under /assets/, no-cache for the rest */
    const unsigned char *bytes; /* not terminated */
    size_t length;              /* in bytes */
    bool gzip;                  /* bytes are gzip: the answer must say so */
};

/* The asset of a path. "/" and every path that is neither an asset nor below /assets/ or /api/ give index.html, since
 * the interface keeps its own addresses (/projects/default/jobs). NULL when there is none. */
const struct ui_asset *ui_asset_find(const char *path);

/* The same in the form that suits the client: compressed when it accepts gzip and a compressed form exists. */
const struct ui_asset *ui_asset_find_encoded(const char *path, bool accepts_gzip);

#endif
