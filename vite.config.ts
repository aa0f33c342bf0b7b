import { defineConfig, type Plugin } from 'vite'

/** Styles are named behind what is seen first, so that it does not wait for them; the script waits, as it did. */
const stylesLast: Plugin = {
  name: 'styles-last',
  transformIndexHtml: {
    order: 'post',
    handler(html) {
      const links = html.match(/ *<link rel="stylesheet"[^>]*>\n/g) ?? []
      return links
        .reduce((text, link) => text.replace(link, ''), html)
        .replace('  </body>', `${links.join('')}  </body>`)
    },
  },
}

/** The dashboard. `npx vite` serves it while it is written, with the API of a gateway that runs (`npm start`). */
export default defineConfig({
  root: 'src/dashboard',
  // Its own: vitest's configuration stands in the root.
  cacheDir: '../../node_modules/.vite-dashboard',
  plugins: [stylesLast],
  build: {
    outDir: '../../dist/dashboard',
    emptyOutDir: true,
    target: 'baseline-widely-available',
    // A data: address in place of a file would ask for more in the Content-Security-Policy.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 1000,
    reportCompressedSize: false,
    // Mantine marks each file for React's servers, which is nothing to a bundle.
    rolldownOptions: { checks: { moduleLevelDirective: false } },
  },
  server: {
    host: '127.0.0.1',
    proxy: { '/api': { target: process.env.TOLLGATE_ADMIN_URL ?? 'http://127.0.0.1:9090' } },
  },
})
