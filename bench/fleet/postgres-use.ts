/**
 * What a Postgres on this machine has done so far: its count of commits, and the CPU of its
 * sessions.
 */
import { readFileSync } from 'node:fs'
import pg from 'pg'

export type PostgresUse = { readonly commits: number; readonly cpuMs: number }

/** Linux: /proc counts in hundredths of a second. */
const tickMs = 10

export async function postgresUse(url: string): Promise<PostgresUse> {
  const location = new URL(url)
  location.searchParams.delete('schema')
  const client = new pg.Client(location.href)
  await client.connect()
  try {
    const { rows: totals } = await client.query<{ commits: string }>(
      'select xact_commit as commits from pg_stat_database where datname = current_database()',
    )
    const { rows: sessions } = await client.query<{ pid: number }>(
      'select pid from pg_stat_activity where pid <> pg_backend_pid()',
    )
    const running = sessions.reduce((sum, { pid }) => sum + processCpuMs(pid), 0)
    // A pool closes connections that are idle, and their time would be missing.
    const { rows: own } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    const cpuMs = running + endedCpuMs(parentOf(own[0]?.pid ?? 0))
    return { commits: Number(totals[0]?.commits ?? 0), cpuMs }
  } finally {
    await client.end()
  }
}

/** CPU of a process in milliseconds; 0 once it has ended. */
export const processCpuMs = (pid: number): number => ticksOf(pid, 11, 12)

/** CPU of its children that have ended. */
const endedCpuMs = (pid: number): number => ticksOf(pid, 13, 14)

const parentOf = (pid: number): number => Number(fieldsOf(pid)[1])

const ticksOf = (pid: number, user: number, system: number): number => {
  const fields = fieldsOf(pid)
  return (Number(fields[user] ?? 0) + Number(fields[system] ?? 0)) * tickMs
}

/** What follows the name of the process. */
function fieldsOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  } catch {
    return []
  }
}
