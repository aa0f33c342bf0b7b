import { defineConfig } from 'vite'

/** The page of the API. Its files are wherever the configuration of the gateway says, so nothing names a place. */
export default defineConfig({
  root: 'src/reference/page',
  base: './',
  cacheDir: '../../../node_modules/.vite-reference',
  build: {
    outDir: '../../../dist/reference/page',
    emptyOutDir: true,
    target: 'baseline-widely-available',
    // A data: address in place of a file would ask for more in the Content-Security-Policy.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 2000,
    reportCompressedSize: false,
    // The frame is made when a service is chosen: what it preloads would be an inline script in some versions.
    modulePreload: false,
    rolldownOptions: {
      // Swagger UI is large, and how long that takes is nobody's concern here.
      checks: { pluginTimings: false, bundlerTimings: false },
      input: ['src/reference/page/index.html', 'src/reference/page/frame.html'],
    },
  },
})
