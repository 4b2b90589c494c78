/** What the commands ask of the rest of the program. They know nothing else of it, so a test can hand in literals. */
import type * as worker from '../../jobs/worker.ts'
import type * as imports from '../compose/import.ts'
import type * as queue from '../compose/queue.ts'
import type * as compose from '../compose.ts'

export type Work = Pick<
  typeof compose,
  'syncProject' | 'pushProject' | 'checkProject' | 'verifyProject' | 'mintWidgetToken' | 'statusOf' | 'migrateWarehouse'
>

/** What is done with the queue of write-backs. */
export type QueueRoom = Pick<
  typeof queue,
  'addWriteback' | 'listWritebacks' | 'eachWriteback' | 'showWriteback' | 'decideWritebacks'
> &
  Pick<typeof imports, 'importWritebacks' | 'previewImport'>

export type WorkerRoom = Pick<typeof worker, 'startWorker'>
