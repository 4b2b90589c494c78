/**
 * `node test/simulator/prove.ts [SCHEDULES] [WORD]`: breaks each of the chosen lines in a copy of
 * the program, and runs the simulator there until a schedule fails. It fails if none does. WORD:
 * only promises with that word.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Mutation, mutations } from './mutations.ts'

const print = (line: string) => process.stdout.write(`${line}\n`)

const [count = '200', word = ''] = process.argv.slice(2)
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
    const words = ['test/simulator/replay.ts', ...kind, '0', count]
    const options = { cwd: folder, encoding: 'utf8', maxBuffer: 1 << 28 } as const
    const run = spawnSync(process.execPath, words, options)
    const [, seed, failure = run.stderr.slice(0, 2000)] =
      /^seed (\d+): (.{1,200})/m.exec(run.stdout) ?? []
    const found = seed === undefined ? 'not found' : `found in schedule ${Number(seed) + 1}`
    print(`${found} of ${count}: without ${promise} (${file})\n     ${failure}`)
    return seed !== undefined
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const chosen = mutations.filter(({ promise }) => promise.includes(word))
const isProven = chosen.map(prove).every((found) => found)
if (!isProven) process.exitCode = 1
