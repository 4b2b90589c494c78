/** What the commands ask of the rest of the program. They know nothing else of it, so a test can hand in literals. */
import type * as worker from '../../jobs/worker.ts'
import type * as compose from '../compose.ts'

export type Work = Pick<
  typeof compose,
  'syncProject' | 'pushProject' | 'checkProject' | 'verifyProject' | 'mintWidgetToken' | 'statusOf' | 'migrateWarehouse'
>

export type WorkerRoom = Pick<typeof worker, 'startWorker'>
