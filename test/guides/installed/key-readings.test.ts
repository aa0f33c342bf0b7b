import { dirname, join } from 'node:path'
import { describeReadings } from '../../e2e/key-readings.ts'
import { run } from '../../routing/spellings.ts'
import { guideTool } from '../../setup/guides-tools.ts'

const FILE = join(import.meta.dirname, '../../e2e/services/keys.py')
/** Beside which the libraries are. */
const python = () => join(dirname(guideTool('gunicorn')), 'python')

describeReadings('Django', () => run(python(), FILE, 'django'))
describeReadings('Werkzeug', () => run(python(), FILE, 'werkzeug'))
