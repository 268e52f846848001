import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';
import { licenses } from './licenses';

// During development the API is asked where CARILLON_URL points (a server, or tests/ui/fake-server.mjs).
const server = process.env.CARILLON_URL ?? 'http://127.0.0.1:8420';

export default defineConfig({
  plugins: [react(), licenses()],
  server: { port: 5173, proxy: { '/api': server } },
  build: {
    outDir: 'dist',
    target: 'es2022',
    sourcemap: false,
    // The policy of the server allows no inline script and no data: font, so nothing is folded into the page.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  test: { environment: 'node', include: ['src/**/*.test.ts'] },
});
