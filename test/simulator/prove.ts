/**
 * `node test/simulator/prove.ts [SCHEDULES] [WORD]`: breaks each of the chosen lines in a copy of
 * the program, and runs the simulator there. It fails if the simulator finds nothing in one of
 * them. WORD: only promises with that word.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Mutation, mutations } from './mutations.ts'

const print = (line: string) => process.stdout.write(`${line}\n`)

const [count = '500', word = ''] = process.argv.slice(2)
const root = join(import.meta.dirname, '../..')

function prove({ promise, needsLists, file, line, instead }: Mutation): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'deskmirror-mutation-'))
  try {
    for (const name of ['src', 'schema', 'test', 'package.json'])
      cpSync(join(root, name), join(folder, name), { recursive: true })
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
    const text = readFileSync(join(folder, file), 'utf8')
    if (text.split(line).length !== 2)
      throw new Error(`${file} does not have this line once: ${line}`)
    writeFileSync(
      join(folder, file),
      text.replace(line, () => instead),
    )
    const kind = needsLists === true ? ['--lists'] : []
    const run = spawnSync(
      process.execPath,
      ['test/simulator/replay.ts', ...kind, '--all', '0', count],
      {
        cwd: folder,
        encoding: 'utf8',
        maxBuffer: 1 << 28,
      },
    )
    const failed = run.stdout.match(/^seed \d+: .*/gm) ?? []
    print(
      `${String(failed.length).padStart(4)} of ${count} schedules fail without: ${promise} (${file})`,
    )
    print(
      failed.length === 0
        ? `     ${run.stderr.slice(0, 2000)}`
        : `     ${failed[0]?.slice(0, 200)}`,
    )
    return failed.length > 0
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const chosen = mutations.filter(({ promise }) => promise.includes(word))
const isProven = chosen.map(prove).every((found) => found)
if (!isProven) process.exitCode = 1
