/** `deskmirror report`: its formats, its file, its errors. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { buildReport } from '../../src/analytics/report/report.ts'
import { openMirror } from '../../src/app/facts.ts'
import { openWarehouse } from '../../src/app/open.ts'
import { command as reportCommand } from '../../src/cli/report.ts'
import { UserError } from '../../src/values/user-error.ts'
import { now, reportData } from '../analytics/report/report-fixtures.ts'
import { factsOf, settings } from '../analytics/sql/facts-settings.ts'
import { createTempFolder } from '../support/temp-folder.ts'
import { commit, conversation } from '../warehouse/row-fixtures.ts'
import { createUserError, runCommand } from './run-command.ts'
import { runInProcess } from './run-in-process.ts'
import { startCliScenario } from './scenario.ts'

type UseCases = Parameters<typeof runCommand>[2]

const readReport: UseCases['readReport'] = async (_, { name }) =>
  buildReport(name, reportData(), now)
const run = (args: readonly string[], useCases: UseCases = { readReport }) =>
  runCommand(reportCommand, args, useCases, { now })

test('without a format it prints Markdown, one part for each project', async () => {
  const { exit, out } = await run([])
  expect(exit).toBe(0)
  expect(out).toMatch(
    /^# Report of shop, school, 2026-11-09 to 2026-11-15 \(week 2026-W46\)\n\n## shop: 2026-11-09/,
  )
  expect(out).toContain('\n## school: 2026-11-09')
  expect(out).toMatch(/[^\n]\n$/)
})

test('on a terminal nothing is escaped, unless Markdown is asked for', async () => {
  const odd: UseCases['readReport'] = async (_, { name }) =>
    buildReport(`${name} <a@b> & agt_1`, reportData(), now)
  const print = (...args: string[]) =>
    runCommand(reportCommand, args, { readReport: odd }, { now, isTerminal: true })
  expect((await print('--project', 'shop')).out).toMatch(/^# shop <a@b> & agt_1: 2026-11-09/)
  expect((await print()).out).not.toMatch(/&commat;|\\_|\\\n|\*\*/)
  expect((await print('--markdown')).out).toContain('shop &lt;a&commat;b&gt; &amp; agt\\_1')
})

test('--project leaves one part', async () => {
  const { out } = await run(['--project', 'school'])
  expect(out).toMatch(/^# school: 2026-11-09/)
  expect(out).not.toContain('shop')
})

for (const args of [['--json'], ['--format', 'json'], ['--json', '--format', 'json']]) {
  test(`${args.join(' ')} prints one JSON document`, async () => {
    const { exit, out } = await run(args)
    const { projects } = JSON.parse(out)
    expect(exit).toBe(0)
    expect(projects.map(({ project }: { project: string }) => project)).toEqual(['shop', 'school'])
    expect(projects[0].volume.conversationsStarted).toEqual({
      value: 8,
      before: 8,
      change: 0,
      changePercent: 0,
      comparison: 'unchanged',
    })
    expect(projects[0]).toMatchObject({
      period: { from: '2026-11-09' },
      timeZone: 'Europe/Berlin',
      uncertainties: [{}],
    })
  })
}

for (const [flag, beginning] of [
  ['--html', /^<!doctype html>/],
  ['--markdown', /^# Report of/],
] as const) {
  test(`${flag} prints in that format`, async () => {
    const { exit, out } = await run([flag])
    expect({ exit, out }).toEqual({ exit: 0, out: expect.stringMatching(beginning) })
  })
}

const files = [
  ['week.html', /^<!doctype html>/],
  ['WEEK.HTM', /^<!doctype html>/],
  ['week.md', /^# Report of/],
  ['week.json', /^\{\n {2}"projects"/],
] as const

for (const [name, beginning] of files) {
  test(`--output ${name} chooses the format by its extension`, async () => {
    const written: string[][] = []
    const writeReportFile: UseCases['writeReportFile'] = async (path, text) => {
      written.push([path, text])
    }
    const { exit, out } = await run(['--output', name], { readReport, writeReportFile })
    expect({ exit, out }).toEqual({ exit: 0, out: `wrote ${name}\n` })
    expect(written).toEqual([[name, expect.stringMatching(beginning)]])
  })
}

const unclear = [
  [['--output', 'week.pdf'], 'the name week.pdf does not say which'],
  [['--json', '--format', 'html'], '--format html and --json contradict each other'],
  [['--html', '--markdown'], '--markdown and --html contradict each other'],
] as const

for (const [args, why] of unclear) {
  test(`${args.join(' ')} is an error`, async () => {
    const { exit, err } = await run(args)
    expect(exit).toBe(2)
    expect(err).toContain(why)
  })
}

test('dates are passed on', async () => {
  const passed: unknown[] = []
  const useCases: UseCases = {
    readReport: async (_config, project, dates, at) => {
      passed.push(dates)
      return buildReport(project.name, reportData(), at)
    },
  }
  await run(['--project', 'shop', '--from', '2026-02-28'], useCases)
  await run(['--project', 'shop', '--from', '2026-02-01', '--to', '2026-02-28'], useCases)
  await run(['--project', 'shop'], useCases)
  expect(passed).toEqual([{ from: '2026-02-28' }, { from: '2026-02-01', to: '2026-02-28' }, {}])
})

test('a project without a report does not keep the others from theirs', async () => {
  const useCases: UseCases = {
    readReport: async (_config, project, _dates, at) => {
      if (project.name === 'school') throw createUserError(2)
      return buildReport(project.name, reportData(), at)
    },
  }
  const { exit, out, err } = await run([], useCases)
  expect(exit).toBe(2)
  expect(out).toContain('There is no report of this project: it did not work: because.')
  expect(out).toContain('Conversations started')
  expect(err).toContain('school: it did not work')
})

test('without any report, nothing is written', async () => {
  const useCases: UseCases = {
    readReport: async () => {
      throw createUserError(1)
    },
    writeReportFile: async () => {
      throw new Error('written')
    },
  }
  const { exit, out, err } = await run(['--output', 'week.html'], useCases)
  expect({ exit, out }).toEqual({ exit: 1, out: '' })
  expect(err).toContain('it did not work')
})

test('a file that cannot be written is an error, in JSON too', async () => {
  const error = {
    what: 'cannot write week.json',
    why: 'the disk is full',
    next: 'free some space',
    exitCode: 1,
  } as const
  const writeReportFile = async () => {
    throw new UserError(error)
  }
  const { exit, out } = await run(['--output', 'week.json', '--json'], {
    readReport,
    writeReportFile,
  })
  expect(exit).toBe(1)
  expect(JSON.parse(out)).toEqual({ error })
})

test('a warehouse file is reported of without any configuration', async () => {
  const cwd = createTempFolder()
  const warehouse = await openWarehouse(`sqlite:${join(cwd, 'some.db')}`)
  const at = '2026-01-01T00:00:00Z'
  await openMirror(warehouse, 'p-1').commit(commit('conversations', [conversation('c1')]))
  const stream = `insert into sync_streams (project_id, stream, synced_at) values ('p-1', 'conversations', '${at}')`
  await warehouse.query(stream)
  await factsOf(warehouse, settings, 'UTC', 'p-1').refresh()
  await warehouse.close()
  const { exit, out } = await runInProcess(['report', 'some.db', '--from', '2026-01-01'], { cwd })
  expect([exit, out]).toEqual([0, expect.stringMatching(/^# p-1: 2026-01-01 to 2026-01-07/)])
  const other = await runInProcess(['report', 'some.db', '--project', 'p-2'], { cwd })
  expect([other.exit, other.err]).toEqual([
    2,
    expect.stringContaining('no project p-2: these are known: p-1'),
  ])
  const none = await runInProcess(['report', 'none.db'], { cwd })
  expect([none.exit, none.err]).toEqual([2, expect.stringContaining('there is no file none.db')])
  const unnamed = await runInProcess(['report'], { cwd })
  expect([unnamed.exit, unnamed.err]).toEqual([
    2,
    expect.stringContaining('as in `deskmirror report demo.db`'),
  ])
})

test('the program writes the page of a mirror, and says what to do without one', async ({
  onTestFinished,
}) => {
  const { run: runCli, ask, folder } = await startCliScenario(onTestFinished)
  const written = await runCli(['report', '--output', 'week.html'])
  expect(written).toMatchObject({ exit: 0, out: 'wrote week.html\n' })
  expect(readFileSync(join(folder, 'week.html'), 'utf8')).toMatch(
    /^<!doctype html>[\s\S]+<\/html>\n$/,
  )
  const { exit, document } = await ask('report', '--from', '2026-01-01', '--to', '2026-01-01')
  expect(exit).toBe(0)
  expect(document.projects[0].volume.waits).toMatchObject({ value: 0 })
  const invalid = await runCli(['report', '--from', '2026-02-30'])
  expect(invalid).toMatchObject({
    exit: 2,
    err: expect.stringContaining('Write a date like 2026-11-16.'),
  })
  const empty = await runCli(['report'], { env: { DESKMIRROR_DATABASE_URL: 'sqlite:none.db' } })
  expect(empty.exit).toBe(2)
  expect(empty.err).toContain('deskmirror sync')
  const missing = await runCli(['report'], {
    env: { DESKMIRROR_PROJECT_ID: '00000000-0000-4000-8000-000000000000' },
  })
  expect(missing).toMatchObject({
    exit: 2,
    err: expect.stringContaining('there is nothing to report of default'),
  })
})
