/** Runs one command of deskmirror as users run it, in its own process, and measures it. */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { SyncReport } from '../src/mirror/core/reports.ts'
import { launcher, type SandboxProcess } from './sandbox.ts'

/**
 * `peakMb`: the largest resident set of the process, in 10^6 bytes. `tookMs`: from its start to its
 * end. `writtenBytes`: what it passed to the kernel to write, into files and sockets. `cpuMs`: its
 * processor time, which other work on the machine affects less.
 */
export type CommandRun = {
  readonly stdout: string
  readonly peakMb: number
  readonly tookMs: number
  readonly writtenBytes: number
  readonly cpuMs: number
}

/** Throws if the command does not exit with 0. `program`: another checkout's, to compare with. */
export async function runCommand(
  args: readonly string[],
  { environment }: Pick<SandboxProcess, 'environment'>,
  databaseUrl: string,
  program = launcher,
): Promise<CommandRun> {
  const began = performance.now()
  const env = { ...process.env, ...environment, DESKMIRROR_DATABASE_URL: databaseUrl }
  const child = spawn(process.execPath, [program, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let [peakMb, writtenBytes, cpuMs] = [0, 0, 0]
  const samplePeak = () => {
    const pid = child.pid ?? 0
    peakMb = Math.max(peakMb, readPeakMb(pid))
    writtenBytes = Math.max(writtenBytes, readWrittenBytes(pid))
    cpuMs = Math.max(cpuMs, readCpuMs(pid))
  }
  // At its end SQLite copies its log into the database, which takes some 20 ms.
  const timer = setInterval(samplePeak, 10)
  const ended = new Promise<number | null>((resolve) => child.on('exit', resolve))
  let stdout = ''
  for await (const chunk of child.stdout) {
    stdout += chunk
    samplePeak()
  }
  const code = await ended
  clearInterval(timer)
  if (code !== 0) throw new Error(`deskmirror ${args.join(' ')} ended with ${code}: ${stdout}`)
  return { stdout, peakMb, tookMs: performance.now() - began, writtenBytes, cpuMs }
}

function readWrittenBytes(pid: number): number {
  return Number(/^wchar: (\d+)/m.exec(readProcess(pid, 'io'))?.[1] ?? 0)
}

/**
 * User and system time of all threads. Source: proc(5), fields 14 and 15, in hundredths of a
 * second.
 */
function readCpuMs(pid: number): number {
  const [user = 0, system = 0] =
    readProcess(pid, 'stat').split(') ').at(-1)?.split(' ').slice(11, 13).map(Number) ?? []
  return (user + system) * 10
}

/** Empty once the process has ended. */
function readProcess(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}

/**
 * The kernel's high-water mark, so no peak between two samples is missed. 0 once the process has
 * ended.
 */
function readPeakMb(pid: number): number {
  return (Number(/^VmHWM:\s+(\d+) kB/m.exec(readProcess(pid, 'status'))?.[1] ?? 0) * 1024) / 1e6
}

export type MeasuredSync = CommandRun & { readonly report: SyncReport; readonly messages: number }

/** Runs one sync, and counts the message rows that it stored. */
export async function runSync(
  service: SandboxProcess,
  databaseUrl: string,
  program = launcher,
): Promise<MeasuredSync> {
  const ran = await runCommand(['sync', '--quiet', '--json'], service, databaseUrl, program)
  const [report] = (JSON.parse(ran.stdout) as { readonly projects: readonly SyncReport[] }).projects
  if (report === undefined) throw new Error('no project was synced')
  const messages = report.streams.find(({ stream }) => stream === 'messages')?.rows ?? 0
  return { ...ran, report, messages }
}
