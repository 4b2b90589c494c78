/** The use cases that the commands call. Commands know nothing else of them, so tests can pass literals. */
import type * as worker from '../../jobs/worker.ts'
import type * as check from '../app/check.ts'
import type * as imports from '../app/import.ts'
import type * as queue from '../app/outbox.ts'
import type * as push from '../app/push.ts'
import type * as status from '../app/status.ts'
import type * as sync from '../app/sync.ts'
import type * as token from '../app/token.ts'
import type * as verify from '../app/verify.ts'

export type UseCases = Pick<typeof check, 'checkProject'> &
  Pick<typeof push, 'pushProject'> &
  Pick<typeof status, 'readStatus' | 'migrateWarehouse'> &
  Pick<typeof sync, 'syncProject'> &
  Pick<typeof token, 'mintWidgetToken'> &
  Pick<typeof verify, 'verifyProject'>

/** The operations on the queue of write-backs. */
export type WritebackUseCases = Pick<
  typeof queue,
  'addWriteback' | 'listWritebacks' | 'forEachWriteback' | 'showWriteback' | 'decideWritebacks'
> &
  Pick<typeof imports, 'importWritebacks' | 'previewImport'>

export type WorkerUseCases = Pick<typeof worker, 'startWorker'>
