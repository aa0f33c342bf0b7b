/** The theme of VitePress with the fonts of the reader's system: the site loads no font, and nothing from elsewhere. */
export { default } from 'vitepress/theme-without-fonts'

import './contrast.css'
