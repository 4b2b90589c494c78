/** Live numbers as server-sent events: texts by name, read once for all who listen to a project. */
import type { ServerResponse } from 'node:http'
import type { ConsoleProject } from '../../app/console/console-project.ts'
import { batchLive, batchShape } from '../../console/batch-live.ts'
import type { ProjectFrame } from '../../console/page.ts'
import { liveTexts, overviewShape } from '../../console/pages/overview-sentences.ts'
import { streamLiveTexts } from '../../console/pages/streams.ts'
import { countsText } from '../../console/pages/writebacks.ts'
import { errorText } from '../../core/error-text.ts'
import type { Ms } from '../../core/time.ts'
import type { ConsoleOptions } from './console-options.ts'

const streamHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
}

const everyMs: Ms = 2000
const maxListeners = 64

type Listeners = { readonly responses: Set<ServerResponse>; readonly timer: NodeJS.Timeout }

export function createLiveStreams(
  { data, writebacks, now, log }: ConsoleOptions,
  frameOf: (project: ConsoleProject) => ProjectFrame,
) {
  const byProject = new Map<string, Listeners>()
  const readMessage = async (project: ConsoleProject): Promise<string> => {
    const overview = await data.overview(project)
    const batches = await writebacks.progress(project)
    const texts: Record<string, string> = { ...liveTexts(overview, now()), ...streamLiveTexts(overview.streams, now()) }
    const shapes: Record<string, string> = { overview: overviewShape(overview, frameOf(project)) }
    for (const report of batches) {
      const name = `batch ${report.batch.id}`
      const { settled, progress } = batchLive(report, { timeZone: project.timeZone, now: now() })
      shapes[name] = batchShape(report)
      texts[`${name} progress`] = progress
      texts[`${name} settled`] = String(settled)
      texts[`${name} counts`] = countsText(report.batch.counts)
    }
    return `data: ${JSON.stringify({ texts, shapes })}\n\n`
  }
  const broadcast = async (project: ConsoleProject) => {
    const responses = byProject.get(project.name)?.responses ?? new Set()
    try {
      const message = await readMessage(project)
      for (const response of responses) response.write(message)
    } catch (error) {
      log.debug({ event: 'console.live_failed', project: project.name, why: errorText(error) })
      // A comment shows whether the listener is still there.
      for (const response of responses) response.write(': nothing can be read at present\n\n')
    }
  }
  const remove = (project: ConsoleProject, response: ServerResponse) => {
    const listeners = byProject.get(project.name)
    listeners?.responses.delete(response)
    if (listeners === undefined || listeners.responses.size > 0) return
    clearInterval(listeners.timer)
    byProject.delete(project.name)
  }
  const count = () => [...byProject.values()].reduce((sum, { responses }) => sum + responses.size, 0)
  return {
    isFull: () => count() >= maxListeners,
    /** The response's head has not been sent yet. */
    add: (project: ConsoleProject, response: ServerResponse): void => {
      response.writeHead(200, streamHeaders)
      response.write('retry: 3000\n\n')
      const timer = () => setInterval(() => void broadcast(project), everyMs).unref()
      const listeners = byProject.get(project.name) ?? { responses: new Set(), timer: timer() }
      byProject.set(project.name, listeners)
      listeners.responses.add(response)
      response.on('close', () => remove(project, response))
      void broadcast(project)
    },
    /** Otherwise open streams would keep the server from closing. */
    close: (): void => {
      for (const { responses, timer } of byProject.values()) {
        clearInterval(timer)
        for (const response of responses) response.end()
      }
    },
  }
}
