/**
 * `deskmirror export`: what the options mean, what contradicts, what is printed; and the real
 * command when it is stopped.
 */

import { spawn } from 'node:child_process'
import { copyFileSync, readdirSync, readFileSync, watch, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openWarehouse } from '../../src/app/open.ts'
import { command as exportCommand, renderExportProgress } from '../../src/cli/export.ts'
import type { ExportReport } from '../../src/export/core/selection.ts'
import type { ExportRequest } from '../../src/export/export-objects.ts'
import { createTempFolder } from '../support/temp-folder.ts'
import { runCommand } from './run-command.ts'
import { runInProcess } from './run-in-process.ts'
import { cleanEnvironment, launcher, runDeskmirror } from './run-process.ts'

const report: ExportReport = {
  format: 'csv',
  tookMs: 12,
  objects: [
    {
      object: 'messages',
      kind: 'table',
      rows: 1_200_000,
      file: 'out/messages.csv',
      bytes: 310_400_000,
      timeColumn: 'created_at',
    },
    {
      object: 'calls',
      kind: 'table',
      rows: 1,
      file: 'out/calls.csv',
      bytes: 980,
      timeColumn: null,
    },
  ],
}

/** Runs the command, and returns what it asked for. */
async function run(args: readonly string[], isTerminal = false) {
  const requests: ExportRequest[] = []
  const exportFromWarehouse = async (_config: unknown, request: ExportRequest) => {
    requests.push(request)
    return report
  }
  return {
    ...(await runCommand(exportCommand, args, { exportFromWarehouse }, { isTerminal })),
    request: requests[0],
  }
}

describe('what is asked for', () => {
  test('a single object goes to standard output as CSV', async () => {
    const { exit, out, request } = await run(['messages'])
    expect([exit, out]).toEqual([0, ''])
    expect(request).toMatchObject({
      objects: ['messages'],
      format: 'csv',
      projectId: null,
      columns: [],
      where: [],
    })
    expect(request!.target).toHaveProperty('write')
  })

  test.each([
    ['layer.db', 'sqlite'],
    ['m.parquet', 'parquet'],
    ['m.ndjson', 'jsonl'],
    ['m.txt', 'csv'],
    ['out/', 'csv'],
  ])('the ending of --output %s means %s', async (path, format) => {
    expect((await run(['messages', '--output', path])).request).toMatchObject({
      format,
      target: path,
    })
  })

  test('project, times, conditions and columns', async () => {
    const args = [
      '--project',
      'shop',
      '--since',
      '2026-01-01',
      '--where',
      'kind=utterance',
      '--where',
      'content=null',
    ]
    const { request } = await run([
      'messages',
      ...args,
      '--where',
      'content==1',
      '--columns',
      'id, content',
    ])
    expect(request).toMatchObject({
      projectId: 'p',
      since: '2026-01-01',
      until: null,
      where: [
        { column: 'kind', value: 'utterance' },
        { column: 'content', value: null },
        { column: 'content', value: '=1' },
      ],
      columns: ['id', 'content'],
    })
  })
})

describe('what contradicts', () => {
  test.each([
    [['messages', '--json'], /--json would be mixed/],
    [['messages', '--format', 'parquet'], /parquet is not for a terminal/],
    [['messages', '--format', 'jsonl', '--excel'], /--excel is for CSV/],
    [['messages', '--columns', ','], /--columns names no column/],
    [['messages', '--project', 'school2'], /there is no project school2/],
  ])('%j', async (args, says) => {
    const { exit, err, request } = await run(args, true)
    expect([exit, request]).toEqual([2, undefined])
    expect(err).toMatch(says)
  })
})

describe('what is printed', () => {
  test('each file with its rows and size, and the column of the times', async () => {
    const { out } = await run(['messages', 'calls', '--output', 'out', '--since', '2026-01-01'])
    expect(out).toBe(
      'messages   1,200,000 rows   310.4 MB    out/messages.csv   by created_at\n' +
        'calls              1 row    980 bytes   out/calls.csv\n',
    )
  })

  test('with --json the report', async () => {
    expect(JSON.parse((await run(['messages', '--output', 'out', '--json'])).out)).toEqual(report)
  })

  test('the progress has an estimate where the rows were counted', () => {
    const progress = { object: 'messages', rows: 250_000, total: 1_000_000 }
    expect(renderExportProgress(progress, 5000)).toBe(
      'messages   250,000 of 1,000,000 rows   50,000 rows/s   about 15 s left',
    )
    expect(renderExportProgress({ ...progress, total: null }, 100)).toBe('messages   250,000 rows')
  })
})

describe('the real command', () => {
  const many = `insert into conversations (project_id, id, raw, synced_at, asked_at)
    with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 100000)
    select 'p', printf('%08d', n), '{}', '2026-01-01T00:00:00Z', 1 from numbers`
  const template = join(createTempFolder(afterAll), 'mirror.db')
  beforeAll(async () => {
    const warehouse = await openWarehouse(`sqlite:${template}`)
    await warehouse.query(many)
    await warehouse.close()
  })

  function makeWarehouse() {
    const cwd = createTempFolder()
    copyFileSync(template, join(cwd, 'mirror.db'))
    return { cwd, env: { DESKMIRROR_DATABASE_URL: `sqlite:${join(cwd, 'mirror.db')}` } }
  }

  test('exports to standard output and to a file, without any other setting than the database', async () => {
    const { cwd, env } = makeWarehouse()
    const columns = ['--columns', 'id']
    const stdout = await runDeskmirror(['export', 'conversations', ...columns], { cwd, env })
    expect([stdout.exit, stdout.out.split('\r\n').length, stdout.out.slice(0, 14)]).toEqual([
      0,
      100_002,
      'id\r\n00000001\r\n',
    ])
    const file = await runInProcess(
      ['export', 'conversations', '--output', 'c.parquet', '--json'],
      { cwd, env },
    )
    expect(JSON.parse(file.out)).toMatchObject({
      format: 'parquet',
      objects: [{ rows: 100_000, file: 'c.parquet' }],
    })
    const unknown = await runInProcess(['export', 'conversation'], { cwd, env })
    expect([unknown.exit, unknown.out]).toEqual([2, ''])
    expect(unknown.err).toMatch(/perhaps conversations/)
  })

  test('--query exports the answer to a statement of a file or of standard input, --file any warehouse', async () => {
    const { cwd, env } = makeWarehouse()
    const statement = 'select count(*) as conversations from conversations'
    writeFileSync(join(cwd, 'how many.sql'), statement)
    const named = ['--file', 'mirror.db']
    for (const [args, options] of [
      [['--query', 'how many.sql'], { cwd, env }],
      [['--query', 'how many.sql', ...named], { cwd }],
    ] as const)
      expect(await runInProcess(['export', ...args], options)).toMatchObject({
        exit: 0,
        out: 'conversations\r\n100000\r\n',
      })
    const piped = await runDeskmirror(['export', '--query', '-', '--format', 'jsonl', ...named], {
      cwd,
      input: statement,
    })
    expect([piped.exit, piped.out]).toEqual([0, '{"conversations":100000}\n'])
    const whole = await runInProcess(['export', 'dim_hour', ...named, '--columns', 'hour'], { cwd })
    expect(whole.out.split('\r\n')).toHaveLength(26)
    for (const [args, why] of [
      [['visitors', '--query', 'how many.sql'], /leave one of them out/],
      [['--query', 'none.sql'], /none\.sql: /],
      [['--query', 'select all.sql'], /select all\.sql: /],
      [['--query', 'select 1 as n'], /--query takes a file, and this is a statement\n.*write it/],
      [['--query', 'how many.sql', '--since', '2026-01-01'], /cannot be used with/],
      [['--query', 'how many.sql', '--output', 'how many.sql', '--force'], /it is the statement/],
      [['visitors', '--output', 'mirror.db', '--force'], /it is the warehouse/],
    ] as const) {
      const refused = await runInProcess(['export', ...args, ...named], { cwd })
      expect([refused.exit, refused.out], args.join(' ')).toEqual([2, ''])
      expect(refused.err).toMatch(why)
    }
    expect(readFileSync(join(cwd, 'how many.sql'), 'utf8')).toBe(statement)
  })

  test('leaves a file alone that it only reads, whatever its journal and the names in it', async () => {
    const { cwd, env } = makeWarehouse()
    const path = env.DESKMIRROR_DATABASE_URL.slice('sqlite:'.length)
    const owner = new Database(path)
    owner.exec(
      'create table "a.b" ("c.d" text primary key, "e.f" integer); insert into "a.b" values (\'x\', 1)',
    )
    owner.exec('create view "v.w" as select "e.f" as "g.h" from "a.b"')
    owner.pragma('journal_mode = delete')
    owner.close()
    const before = readFileSync(path)
    const table = await runInProcess(['export', 'a.b', '--where', 'e.f=1'], { cwd, env })
    expect([table.err, table.out]).toEqual(['', 'c.d,e.f\r\nx,1\r\n'])
    expect((await runInProcess(['export', 'v.w'], { cwd, env })).out).toBe('g.h\r\n1\r\n')
    await runInProcess(['report', '--json'], { cwd, env })
    expect(readFileSync(path).equals(before)).toBe(true)
  })

  test.each([
    ['SIGKILL', null],
    ['SIGINT', null],
  ] as const)('%s midway leaves no file that looks whole', async (signal, exit) => {
    const { cwd, env } = makeWarehouse()
    const folder = createTempFolder()
    const started = Promise.withResolvers<void>()
    const watcher = watch(folder, () => started.resolve())
    const args = ['export', 'conversations', '--output', join(folder, 'c.csv'), '--quiet']
    const child = spawn(process.execPath, [launcher, ...args], {
      cwd,
      env: cleanEnvironment(env),
      stdio: 'ignore',
    })
    const ended = new Promise((resolve) => child.on('exit', resolve))
    await started.promise
    child.kill(signal)
    expect(await ended).toBe(exit)
    watcher.close()
    const left = readdirSync(folder)
    if (signal === 'SIGINT') expect(left).toEqual([])
    else expect(left).toEqual([expect.stringMatching(/^\.c\.csv\.\w+\.partial$/)])
  })
})
