/** Notes what a use of the service sends that is no run, so that `status` counts it in the budget. */
import { randomUUID } from 'node:crypto'
import type { ProjectConfig } from '../config.ts'
import type { Ms } from '../core/time.ts'
import type { Warehouse } from '../warehouse/open.ts'
import type { Purpose } from '../warehouse/requests.ts'
import type { Service } from './service.ts'

const noteEveryMs: Ms = 2000

/** A note that cannot be written is left out: nobody's work depends on it. */
export async function counted<T>(
  warehouse: Pick<Warehouse, 'noteRequests'>,
  { projectId }: Pick<ProjectConfig, 'projectId'>,
  purpose: Purpose,
  { client }: Service,
  work: () => Promise<T>,
): Promise<T> {
  const note = { project: projectId, id: randomUUID(), purpose, since: Date.now() }
  let noted = 0
  let last = Promise.resolve()
  const write = async () => {
    const requests = client.requests()
    if (requests === noted) return
    noted = requests
    await warehouse.noteRequests(note, requests, Date.now()).catch(() => {})
  }
  const next = () => {
    last = last.then(write)
    return last
  }
  const timer = setInterval(() => void next(), noteEveryMs)
  try {
    return await work()
  } finally {
    clearInterval(timer)
    await next()
  }
}
