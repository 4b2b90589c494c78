/** Live numbers as server-sent events: texts by name, read once for all who listen to a project. */

import type { ServerResponse } from 'node:http'
import { readSendingFacts } from '../../app/batches.ts'
import { readPace } from '../../app/outbox.ts'
import type { BatchSummary } from '../../outbox/outbox.ts'
import { estimateBatch } from '../../outbox/read-reports.ts'
import { createOutbox } from '../../outbox/sql/outbox.ts'
import type { Ms } from '../../values/time.ts'
import { errorText } from '../../values/user-error.ts'
import { type BatchState, batchLive, batchShape, batchTexts, readUndoUntil } from '../batch-state.ts'
import { checkKey } from '../checks.ts'
import { liveTexts, overviewShape } from '../pages/overview.ts'
import { streamLiveTexts } from '../pages/streams.ts'
import type { ConsoleProject } from '../project.ts'
import type { ConsoleReads } from '../reads.ts'
import { countsText } from '../writeback-blocks.ts'
import type { Site } from './site.ts'

const streamHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
}

const everyMs: Ms = 2000
const maxListeners = 64
/** Nobody takes the streams of all others. */
const maxOfPerson = 16

/** `mayListen`: whether the session has not ended since. */
type Listener = {
  readonly response: ServerResponse
  readonly project: ConsoleProject
  readonly person: string
  readonly mayListen: () => Promise<boolean>
}

export function createLiveStreams(site: Site) {
  const listeners = new Set<Listener>()
  let timer: NodeJS.Timeout | undefined
  const broadcast = async (project: ConsoleProject) => {
    const message = await readMessage(site, project).catch((error: unknown) => {
      site.log.debug({ event: 'console.live_failed', project: project.name, why: errorText(error) })
      // A comment shows whether the listener is still there.
      return ': nothing can be read at present\n\n'
    })
    for (const listener of listeners) if (listener.project.name === project.name) await tell(listener, message)
  }
  const broadcastAll = () => {
    const projects = new Map([...listeners].map(({ project }) => [project.name, project]))
    for (const project of projects.values()) void broadcast(project)
  }
  return {
    isFull: (person: string): boolean =>
      listeners.size >= maxListeners || [...listeners].filter((it) => it.person === person).length >= maxOfPerson,
    /** The response's head has not been sent yet. */
    add: (listener: Listener): void => {
      const { response, project } = listener
      response.writeHead(200, streamHeaders)
      response.write('retry: 3000\n\n')
      listeners.add(listener)
      timer ??= setInterval(broadcastAll, everyMs).unref()
      response.on('close', () => {
        listeners.delete(listener)
        if (listeners.size > 0) return
        clearInterval(timer)
        timer = undefined
      })
      void broadcast(project)
    },
    /** Otherwise open streams would keep the server from closing. */
    close: (): void => {
      clearInterval(timer)
      for (const { response } of listeners) response.end()
    },
  }
}

async function readMessage({ reads, now, projectFrame }: Site, project: ConsoleProject): Promise<string> {
  const overview = await reads.overview(project)
  const frame = await projectFrame(null, project)
  const texts: Record<string, string> = { ...liveTexts(overview, now()), ...streamLiveTexts(overview.streams, now()) }
  const shapes: Record<string, string> = { overview: overviewShape(overview, frame, await reads.week(project)) }
  for (const state of await readBatches(reads, project)) {
    const { id, counts } = state.batch
    const { settled, progress } = batchLive(state, frame)
    const all = { ...batchTexts(counts, state.check), progress, settled: String(settled), counts: countsText(counts) }
    for (const [name, text] of Object.entries(all)) texts[`batch ${id} ${name}`] = text
    shapes[`batch ${id}`] = batchShape(state, frame.now)
  }
  return `data: ${JSON.stringify({ texts, shapes })}\n\n`
}

const listedBatches = 20
const watchedBatches = 5

/** The newest ones that have ended or are under way. The page of another one asks for itself from time to time. */
async function readBatches(reads: ConsoleReads, project: ConsoleProject): Promise<readonly BatchState[]> {
  const warehouse = await reads.warehouse()
  const outbox = createOutbox(warehouse.projectDb(project.projectId))
  const listed = await outbox.listBatches(listedBatches)
  const moving = listed.filter(({ state }) => state !== 'done').slice(0, watchedBatches)
  const pace = await readPace(warehouse, project)
  const sending = await readSendingFacts(outbox, warehouse)
  const read = async (batch: BatchSummary) => ({
    batch,
    sending,
    check: reads.checks.find(checkKey(project, batch.id)),
    estimate: await estimateBatch(outbox, pace, batch),
    undoUntil: await readUndoUntil(outbox, warehouse, batch),
  })
  return Promise.all(listed.filter((batch) => batch.state === 'done' || moving.includes(batch)).map(read))
}

/** Who reads slowly misses messages, as each has all numbers; otherwise they would be kept in memory. */
export async function tell(
  { response, mayListen }: Pick<Listener, 'response' | 'mayListen'>,
  message: string,
): Promise<void> {
  // Null: at present nobody can say whether the session has ended.
  const mayRead = await mayListen().catch(() => null)
  if (mayRead === false) response.destroy()
  else if (mayRead && !response.writableNeedDrain) response.write(message)
}
