/** A report of a mirror of the sandbox: its numbers are those of the sandbox's own rows. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readReport, writeReportFile } from '../../src/app/report.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { configOf, projectConfigOf, syncOnce } from '../mirror/sync/sync-sandbox.ts'
import { databases } from '../support/databases.ts'
import { createTempFolder } from '../support/temp-folder.ts'

for (const db of databases) {
  test(`a report counts the rows that the service has — ${db.name}`, async () => {
    const sandboxNow = '2026-06-10T12:00:00Z'
    const service = await startSandbox({
      size: { conversations: 40, visitors: 20, calls: 12, days: 9 },
      now: sandboxNow,
      switches: { 'rate.kind': 'off' },
    })
    onTestFinished(() => service.stop())
    const database = await db.makeForSandbox()
    onTestFinished(() => database.drop())
    const url = database.url ?? ''
    await syncOnce(url, service)
    const project = projectConfigOf(service)
    const dates = { from: '2026-06-01', to: '2026-06-07' }
    const report = await readReport(configOf(url, project), project, dates, Date.parse(sandboxNow))

    const isWithin = (time: unknown) =>
      String(time) >= dates.from && String(time).slice(0, 10) <= dates.to
    const rowsOf = (stream: 'conversations' | 'calls') =>
      [...service.truth(stream)].map(({ row }) => row as Readonly<Record<string, unknown>>)
    const conversations = rowsOf('conversations').filter((row) => isWithin(row.createdAt))
    const calls = rowsOf('calls').filter((row) => isWithin(row.startedAt))
    expect(report.volume.conversationsStarted.value).toBe(conversations.length)
    expect(conversations.length).toBeGreaterThan(5)
    expect(report.calls?.calls.value).toBe(calls.length)
    expect(report.backlog.openAtEnd.value).not.toBeNull()
    expect(report.days.reduce((sum, { started }) => sum + started, 0)).toBe(conversations.length)
    expect(report.hours.reduce((sum, { waits }) => sum + waits, 0)).toBe(report.volume.waits.value)
    const { answeredByHuman, answeredByAi, closedWithoutAnswer, ongoingWaits, waits } =
      report.volume
    const ends = [answeredByHuman, answeredByAi, closedWithoutAnswer, ongoingWaits]
    expect(ends.reduce((sum, { value }) => sum + (value ?? 0), 0)).toBe(waits.value)
    expect(report.agents.reduce((sum, { messages }) => sum + (messages.value ?? 0), 0)).toBe(
      report.volume.humanMessages.value,
    )
  })
}

test('a file is replaced as a whole if that is said, and errors say what to do', async () => {
  const folder = createTempFolder(onTestFinished)
  const path = join(folder, 'week.html')
  writeFileSync(path, 'last week')
  const [once, again] = [false, true].map((overwrite) => ({ overwrite, kept: [] }))
  await expect(writeReportFile(path, 'this week', once!)).rejects.toMatchObject({
    why: 'the file exists',
  })
  expect(readFileSync(path, 'utf8')).toBe('last week')
  await writeReportFile(path, 'this week', again!)
  expect(readFileSync(path, 'utf8')).toBe('this week')
  await expect(writeReportFile(join(path, 'week.html'), '', again!)).rejects.toMatchObject({
    what: `cannot write ${join(path, 'week.html')}`,
    why: 'a part of the path is not a folder',
  })
  await expect(writeReportFile(folder, '', again!)).rejects.toMatchObject({
    why: 'it exists and is not a file',
  })
  expect(readdirSync(folder)).toEqual(['week.html'])
})
