/** Notes what a use of the service sends that is no run, so that `status` counts it in the budget. */
import { randomUUID } from 'node:crypto'
import type { ProjectConfig } from '../config/load.ts'
import type { Ms } from '../core/time.ts'
import type { Warehouse } from '../warehouse/open.ts'
import type { RequestPurpose } from '../warehouse/request-counts.ts'
import type { Service } from './service.ts'

const recordEveryMs: Ms = 2000

/** A note that cannot be written is left out: nobody's work depends on it. */
export async function withRequestCounting<T>(
  warehouse: Pick<Warehouse, 'noteRequests'>,
  { projectId }: Pick<ProjectConfig, 'projectId'>,
  purpose: RequestPurpose,
  { client }: Service,
  work: () => Promise<T>,
): Promise<T> {
  const note = { project: projectId, id: randomUUID(), purpose, since: Date.now() }
  let recorded = 0
  let lastWrite = Promise.resolve()
  const write = async () => {
    const requests = client.requests()
    if (requests === recorded) return
    recorded = requests
    await warehouse.recordRequests(note, requests, Date.now()).catch(() => {})
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
