/** One `push` as a process of its own, to be killed. Arguments: one JSON text; answers its report as a line. */
import { pino } from 'pino'
import { pushProject } from '../../src/compose.ts'
import { defaultSchedules } from '../../src/core/schedule.ts'
import { secret } from '../../src/core/secret.ts'

export type PusherTask = {
  readonly databaseUrl: string
  readonly baseUrl: string
  readonly projectId: string
  readonly key: string
  readonly verifyAfterMs: number
}

const task: PusherTask = JSON.parse(process.argv[2] ?? '')
const unlimited = { requests: 1e9, windowMs: 60_000 }
const project = {
  name: 'desk',
  projectId: task.projectId,
  baseUrl: new URL(task.baseUrl),
  widgetUrl: new URL(task.baseUrl),
  apiKey: secret(task.key),
  webhookSecrets: [],
  rate: unlimited,
  writeRate: unlimited,
  reserve: 0,
  startDate: null,
  timeZone: 'UTC',
  verifyAfterMs: task.verifyAfterMs,
  resendReplies: true,
  approveOver: null,
  readOnly: false,
  streams: [],
  schedules: defaultSchedules,
  schema: 'discover' as const,
}
const config = {
  projects: [project],
  databaseUrl: task.databaseUrl,
  queueUrl: 'embedded',
  http: null,
  httpToken: null,
  readOnly: false,
  concurrency: 1,
  logLevel: 'silent' as const,
  logLevelChosen: true,
  warnings: [],
}
const stop = new AbortController()
process.once('SIGTERM', () => stop.abort())
const report = await pushProject(config, project, {
  signal: stop.signal,
  onProgress: () => {},
  onBudget: () => {},
  log: pino({ level: 'silent' }),
  despiteFailures: true,
})
process.stdout.write(`${JSON.stringify(report)}\n`)
