/** `deskmirror start`: the worker, until it is told to stop. */
import { Command } from 'commander'
import type { RunningWorker } from '../../jobs/worker.ts'
import type { Config } from '../config.ts'
import type { Logger } from '../log.ts'
import { nameOfPlace, parseDatabaseUrl } from '../warehouse/database/place.ts'
import { plural } from './readable.ts'
import type { Shell } from './shell.ts'
import { troubleLines, troubleOf } from './trouble.ts'

const help = `
Reads every project by its schedules (docs/configuration.md), and answers over HTTP: /healthz, /readyz, /metrics, /queues.
SIGTERM or Ctrl-C finishes the pages in hand and stops within 10 seconds. SIGHUP reads the configuration again.

Examples:
  $ deskmirror start
  $ DESKMIRROR_QUEUE_URL=redis://127.0.0.1 deskmirror start        on as many machines as you like
  $ DESKMIRROR_HTTP=off DESKMIRROR_LOG_LEVEL=debug deskmirror start

Exit code: 0 stopped as it was told to · 1 failed, start it again · 2 a person must change something`

export function startCommand(shell: Shell): Command {
  return new Command('start')
    .summary('keep the mirror fresh by schedule, until stopped')
    .description('Keeps the mirror fresh by schedule, until it is stopped: the worker.')
    .addHelpText('after', help)
    .action(() => start(shell))
}

async function start(shell: Shell): Promise<void> {
  try {
    await run(shell)
  } catch (error) {
    const trouble = troubleOf(error)
    shell.err(`${troubleLines(trouble, shell.stackTraces()).join('\n')}\n`)
    shell.exit(trouble.exitCode)
  }
}

async function run(shell: Shell): Promise<void> {
  const config = shell.loadConfig('service')
  const display = shell.display(false)
  // Whoever runs a worker reads its log: it is the display.
  const log = shell.openLog({ ...config, logLevelChosen: true, warnings: [] }, display)
  warn(config, log)
  log.info({ event: 'worker.starting', ...placesOf(config) })
  const { stopped, onReload, onMistake, leave } = shell.daemon()
  const failed = Promise.withResolvers<Error>()
  onMistake((error) => failed.resolve(error instanceof Error ? error : new Error(String(error))))
  const { startWorker } = await shell.worker()
  const ended = told(stopped)
  const worker = await Promise.race([startWorker(config, { log, onFatal: failed.resolve }), ended])
  // It may have been waiting for a server that is away; nothing has begun yet.
  if (worker === 'stop') return leave(0)
  onReload(() => reload(shell, worker, log))
  shell.out(`${lines(config, worker).join('\n')}\n`)

  const why = await Promise.race([ended, failed.promise])
  if (why instanceof Error) log.fatal({ event: 'worker.failed', why: why.message, stack: why.stack })
  else log.info({ event: 'worker.stopping' })
  await worker.stop()
  leave(why instanceof Error ? 1 : 0)
}

/** A configuration with a mistake changes nothing. */
function reload(shell: Shell, worker: RunningWorker, log: Logger): void {
  try {
    const config = shell.loadConfig('service')
    warn(config, log)
    const restarts = worker.reload(config)
    log.info({ event: 'config.taken', projects: config.projects.length })
    if (restarts.length > 0) log.warn({ event: 'config.waits', settings: restarts, why: 'these need a restart' })
  } catch (error) {
    const { why } = troubleOf(error)
    log.error({ event: 'config.refused', why, note: 'the worker goes on with the one before' })
  }
}

function warn({ warnings }: Config, log: Logger): void {
  for (const why of warnings) log.warn({ event: 'config.doubtful', why })
}

function told(signal: AbortSignal): Promise<'stop'> {
  if (signal.aborted) return Promise.resolve('stop')
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve('stop'), { once: true }))
}

/** What is opened before it works: the first time that takes a while, and a server that is away is waited for. */
function placesOf({ databaseUrl, queueUrl }: Pick<Config, 'databaseUrl' | 'queueUrl'>) {
  const embedded = queueUrl === 'embedded'
  return {
    warehouse: nameOfPlace(parseDatabaseUrl(databaseUrl)),
    queue: embedded ? 'embedded' : queueUrl.replace(/:.*/s, ''),
    ...(embedded ? { note: 'the embedded queue takes some seconds to open, and longer the first time' } : {}),
  }
}

const listed = 10

function lines({ projects, ...config }: Config, { queue, address }: RunningWorker): string[] {
  const names = projects.slice(0, listed).map(({ name }) => name)
  const more = projects.length > listed ? ', …' : ''
  return [
    `deskmirror works: ${plural(projects.length, 'project')} (${names.join(', ')}${more})`,
    `  warehouse  ${placesOf(config).warehouse}`,
    `  queue      ${queue}`,
    `  http       ${address ?? 'off'}`,
  ]
}
