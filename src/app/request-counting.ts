/** Records the requests of work other than sync runs, so that `status` counts them in the budget. */
import { randomUUID } from 'node:crypto'
import type { ProjectConfig } from '../config/config.ts'
import type { RequestPurpose } from '../service/sql/request-counts.ts'
import type { Ms } from '../values/time.ts'
import type { Warehouse } from './open.ts'
import type { Service } from './service.ts'

const recordEveryMs: Ms = 2000

/** A count that cannot be written is skipped: no work depends on it. */
export async function withRequestCounting<T>(
  warehouse: Pick<Warehouse, 'recordRequests'>,
  { projectId }: Pick<ProjectConfig, 'projectId'>,
  purpose: RequestPurpose,
  { client }: Service,
  work: () => Promise<T>,
): Promise<T> {
  const source = { project: projectId, id: randomUUID(), purpose, since: Date.now() }
  let recorded = 0
  let lastWrite = Promise.resolve()
  const write = async () => {
    const requests = client.requestCount()
    if (requests === recorded) return
    recorded = requests
    await warehouse.recordRequests(source, requests, Date.now()).catch(() => {})
  }
  const writeNext = () => {
    lastWrite = lastWrite.then(write)
    return lastWrite
  }
  const timer = setInterval(() => void writeNext(), recordEveryMs)
  try {
    return await work()
  } finally {
    clearInterval(timer)
    await writeNext()
  }
}
