/**
 * Runs `push` in a separate process that tests can kill. Takes a JSON argument and prints the
 * report as one line.
 */
import { pino } from 'pino'
import { pushProject } from '../../src/app/push.ts'
import type { Sandbox } from '../../src/sandbox/sandbox.ts'
import { configOf, projectConfigOf } from '../mirror/sync/sync-sandbox.ts'

export type PushProcessTask = Pick<Sandbox, 'baseUrl' | 'projectId' | 'key'> & {
  readonly databaseUrl: string
  readonly queueUrl: string
  readonly verifyAfterMs: number
}

const task: PushProcessTask = JSON.parse(process.argv[2] ?? '')
const service = { ...task, widgetUrl: task.baseUrl }
const project = projectConfigOf(service, { verifyAfterMs: task.verifyAfterMs, streams: [] })
const stop = new AbortController()
process.once('SIGTERM', () => stop.abort())
const config = { ...configOf(task.databaseUrl, project), queueUrl: task.queueUrl }
const report = await pushProject(config, project, {
  signal: stop.signal,
  onProgress: () => {},
  onBudget: () => {},
  log: pino({ level: 'silent' }),
  despiteFailures: true,
})
process.stdout.write(`${JSON.stringify(report)}\n`)
