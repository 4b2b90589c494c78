/** Backs up and restores a warehouse by the commands of docs/guide.md. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { basename, delimiter, dirname } from 'node:path'
import { onTestFinished } from 'vitest'
import { findPrograms } from './postgres-server.ts'

const guide = readFileSync(new URL('../../docs/guide.md', import.meta.url), 'utf8')

/** The lines of a code block of the guide that begin so. */
function guideLines(program: string): readonly string[] {
  const lines = guide.split('\n').filter((line) => line.startsWith(`${program} `))
  if (lines.length === 0) throw new Error(`docs/guide.md has no command ${program}`)
  return lines
}

/** Nobody may have the file open. */
export function restoreSqlite(path: string, backup: string): void {
  const [line = ''] = guideLines('cd /var/lib/deskmirror')
  const command = line
    .replace('/var/lib/deskmirror', `'${dirname(path)}'`)
    .replace('-o deskmirror ', '')
    .replaceAll('deskmirror.db', basename(path))
    .replace('BACKUP', `'${backup}'`)
  execFileSync('sh', ['-c', command], { stdio: 'pipe' })
}

/** `url`: of a superuser. Runs the command as a shell would, and throws with what it printed. */
async function run(line: string, url: string, dump: string): Promise<void> {
  const [database, server] = [new URL(url), new URL(url)]
  for (const each of [database, server]) each.search = ''
  server.pathname = '/postgres'
  const command = line
    .replace(/postgres:\/\/\S+\/postgres\b/, `'${server.href}'`)
    .replace(/postgres:\/\/\S+\/NAME\b/, `'${database.href}'`)
    .replaceAll('NAME', database.pathname.slice(1))
    .replace('deskmirror.dump', `'${dump}'`)
  const env = { ...process.env, PATH: `${await findPrograms()}${delimiter}${process.env['PATH']}` }
  execFileSync('sh', ['-c', command], { env, stdio: 'pipe' })
}

export async function dumpPostgres(url: string, dump: string): Promise<void> {
  for (const line of guideLines('pg_dump')) await run(line, url, dump)
}

/**
 * Nobody may be connected to the database, which remains under the name NAME_before until the test
 * has finished.
 */
export async function restorePostgres(url: string, dump: string): Promise<void> {
  onTestFinished(() =>
    run(`psql postgres://-/postgres --command 'drop database NAME_before'`, url, dump),
  )
  for (const line of [...guideLines('psql'), ...guideLines('pg_restore')])
    await run(line, url, dump)
}
