/** `.env` as people and programs write it: every line is read, or named with its number. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { parseEnvFile } from '../../src/config/env-file.ts'
import { loadConfig } from '../../src/config/load.ts'
import { ConfigurationError } from '../../src/config/problems.ts'
import { createTempFolder } from '../support/temp-folder.ts'

let folder = ''
beforeEach(() => {
  folder = createTempFolder()
})

function write(name: string, content: string | Uint8Array): string {
  writeFileSync(join(folder, name), content)
  return join(folder, name)
}

const isReadOnly = () => loadConfig('database', folder, {}).readOnly

function problems(work: () => unknown): readonly string[] {
  try {
    work()
  } catch (error) {
    if (error instanceof ConfigurationError)
      return error.problems.map(({ where, why }) => `${where} ${why}`)
    throw error
  }
  return []
}

const setting = 'DESKMIRROR_READ_ONLY=on'
const inUtf16 = (text: string) => Buffer.from(text, 'utf16le')

describe('a setting is read', () => {
  test.each<[string, string | Uint8Array]>([
    ['behind a byte order mark', `\uFEFF${setting}\nDESKMIRROR_LOG_LEVEL=warn\n`],
    ['from UTF-16, as PowerShell writes it', inUtf16(`\uFEFF${setting}\r\n`)],
    ['from UTF-16 of the other order', inUtf16(`\uFEFF${setting}\r\n`).swap16()],
    ['from UTF-16 without a byte order mark', inUtf16(`${setting}\r\n`)],
    ['behind lines that end with CR alone', `A=1\r${setting}\rB=2\r`],
    ['with no-break spaces around it', `\u00A0DESKMIRROR_READ_ONLY\u00A0=\u00A0on\u00A0\n`],
    ['with zero-width characters around it', `\u200BDESKMIRROR_READ_ONLY=on\u200B\n`],
    ['with export', `export ${setting}\n`],
    ['with export and a tab', `export\t${setting}\n`],
    ['in quotes, with a comment', 'DESKMIRROR_READ_ONLY="on" # as agreed\n'],
    ['below a variable that is empty but for a blank', `A= \n${setting}\n`],
    ['below a value of several lines', `A="one\nB: two\n"\n${setting}\n`],
    [
      'beside comments and values that name it',
      `# A=1 ${setting}2\nB="x ${setting}2" # ${setting}2\nC=u?${setting}2\n${setting}`,
    ],
    ['without a line end', setting],
  ])('%s', (_, content) => {
    write('.env', content)
    expect(isReadOnly()).toBe(true)
  })
})

const noAssignment =
  'is neither a comment nor an assignment: write NAME=value, without `set`, `$env:` or a colon'
const openQuote = 'has a quote that is not closed, or something behind the quote that closes it'
const twoAssignments =
  'sets a second variable: give it a line of its own, or quote all of the value'

describe('a line that is not read is named, never repeated, and nothing starts', () => {
  test.each([
    ['DESKMIRROR_READ_ONLY: on', noAssignment],
    ['DESKMIRROR_READ_ONLY: "a=b"', noAssignment],
    ['DESKMIRROR_READ_ONLY on', noAssignment],
    ['set DESKMIRROR_READ_ONLY=on', noAssignment],
    ['$env:DESKMIRROR_READ_ONLY=on', noAssignment],
    ['DESKMIRROR_READ\u200B ONLY=on', noAssignment],
    ['DESKMIRROR_READ_ONLY', noAssignment],
    ['=on', noAssignment],
    ['svc_live_0123456789abcdef', noAssignment],
    ['A=1 DESKMIRROR_READ_ONLY=on', twoAssignments],
    ['A=1;DESKMIRROR_READ_ONLY=on', twoAssignments],
    ['A=1 export DESKMIRROR_READ_ONLY=on', twoAssignments],
    ['A=1\u2028DESKMIRROR_READ_ONLY=on', twoAssignments],
    ['A=1\u0085DESKMIRROR_READ_ONLY=on', twoAssignments],
    ['A=1\0DESKMIRROR_READ_ONLY=on', twoAssignments],
    ['# a comment\u2028DESKMIRROR_READ_ONLY=on', twoAssignments],
    ['# a comment\v DESKMIRROR_READ_ONLY=on', twoAssignments],
    ['PASSWORD="one', openQuote],
    ['PASSWORD="one" two', openQuote],
    ['PASSWORD="one\nDESKMIRROR_READ_ONLY=on\nB="', openQuote],
  ])('%j', (text, why) => {
    write('.env', `# first\n\nA=1\n${text}\n`)
    expect(problems(isReadOnly)[0]).toEqual(`.env:4 ${why}`)
  })

  test('also behind a value of several lines, with the line as an editor counts', () => {
    write('.env', 'A="one\ntwo\nthree"\nB on\nC="\n"\nD on\n')
    expect(problems(isReadOnly)).toEqual([`.env:4 ${noAssignment}`, `.env:7 ${noAssignment}`])
  })

  test('if it is in another encoding', () => {
    write('.env', Buffer.from('# für uns\nDESKMIRROR_PERSON=Jürgen\n', 'latin1'))
    expect(problems(isReadOnly)).toEqual([
      '.env:2 has a letter that is not UTF-8: save the file as UTF-8',
    ])
  })
})

test('what Node.js reads from a valid file is read', () => {
  const part = fc.constantFrom(
    'A',
    'B',
    '=',
    '"',
    "'",
    '`',
    '#',
    ' ',
    '\n',
    '\\n',
    'x',
    'export ',
    'DESKMIRROR_X',
    '\r\n',
  )
  fc.assert(
    fc.property(fc.array(part, { maxLength: 24 }), (parts) => {
      const text = parts.join('')
      // Node.js takes the next line for the value of an empty variable, and `export` for a part of
      // its name.
      fc.pre(!/=[ \r]+(\n|$)|export .*=(\r?\n|$)/.test(text))
      const file = parseEnvFile(text)
      fc.pre(file.problems.length === 0)
      // Some comments of several lines are assignments for Node.js.
      const byNode = Object.entries(parseEnv(text)).filter(([name]) => !name.startsWith('#'))
      expect(Object.fromEntries(file.assignments.map(({ name, value }) => [name, value]))).toEqual(
        Object.fromEntries(byNode),
      )
    }),
    { numRuns: 1000 },
  )
})

describe('the other files of the configuration', () => {
  const needed = { DESKMIRROR_BASE_URL: 'https://h', DESKMIRROR_PROJECT_ID: 'p-1' }
  const keyFrom = (path: string) =>
    loadConfig('service', folder, {
      ...needed,
      DESKMIRROR_API_KEY_FILE: path,
    }).projects[0]?.apiKey.reveal()

  test('may be UTF-16', () => {
    write('deskmirror.yaml', inUtf16('\uFEFFread_only: on\r\n'))
    expect(isReadOnly()).toBe(true)
    expect(keyFrom(write('key', inUtf16('\uFEFFkey-1\r\n')))).toBe('key-1')
  })

  // It looks like a regular file, and has neither data nor an end for root; others may not open it.
  test('a file that gives no data and has no end is not waited for', () => {
    const script = `import { readTextFile } from '${import.meta.dirname}/../../src/config/text-file.ts'
      process.stdout.write(String(readTextFile('/proc/kmsg')))`
    const answer = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
      timeout: 30_000,
    })
    expect(answer).toMatch(/^(Error: (it gives no data, and has no end|permission denied)|null)$/)
  })

  test('a key is not waited for, and a device is not read without end', () => {
    execFileSync('mkfifo', [join(folder, 'pipe')])
    symlinkSync('/dev/zero', join(folder, 'zero'))
    mkdirSync(join(folder, 'folder'))
    const read = (name: string) => problems(() => keyFrom(join(folder, name)))
    const where = 'DESKMIRROR_API_KEY_FILE cannot be read from'
    expect(read('pipe')).toEqual([`${where} ${join(folder, 'pipe')} (it is not a regular file)`])
    expect(read('zero')).toEqual([`${where} ${join(folder, 'zero')} (it is not a regular file)`])
    expect(read('folder')).toEqual([`${where} ${join(folder, 'folder')} (it is a folder)`])
    write('large', Buffer.alloc(17 * 2 ** 20, 'k'))
    expect(read('large')).toEqual([`${where} ${join(folder, 'large')} (it is larger than 16 MB)`])
    execFileSync('mkfifo', [join(folder, '.env')])
    expect(problems(isReadOnly)).toEqual(['.env cannot be read (it is not a regular file)'])
  })
})
