// Apart from tollgate.cjs, which an old Node must be able to read.
import('../main.js')
