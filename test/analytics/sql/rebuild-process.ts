/**
 * Rebuilds the facts of the tests' project in a process of its own, to be killed: `node
 * rebuild-process.ts DATABASE_URL`.
 */
import { openWarehouse } from '../../../src/app/open.ts'
import { factsOf } from './facts-settings.ts'

const [, , databaseUrl = ''] = process.argv
const warehouse = await openWarehouse(databaseUrl)
await factsOf(warehouse).rebuild({ onProgress: (done) => void process.stdout.write(`${done}\n`) })
await warehouse.close()
