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
    const cpuMs = sessions.reduce((sum, { pid }) => sum + processCpuMs(pid), 0)
    return { commits: Number(totals[0]?.commits ?? 0), cpuMs }
  } finally {
    await client.end()
  }
}

/** CPU of a process in milliseconds; 0 once it has ended. */
export function processCpuMs(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return (Number(fields[11]) + Number(fields[12])) * tickMs
  } catch {
    return 0
  }
}
