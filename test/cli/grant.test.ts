/** `deskmirror migrate --grant`: what it prints, and what it refuses. */
import { expect, test } from 'vitest'
import { command as migrateCommand } from '../../src/cli/migrate.ts'
import { createUserError, runCommand } from './run-command.ts'

const report = {
  from: '0011_failures',
  to: '0012_analytics',
  applied: ['0012_analytics'],
  role: 'analyst',
  granted: ['fct_wait', 'report_day'],
  otherReadable: [] as readonly string[],
}

test('says what the role can read now', async () => {
  const { exit, out } = await runCommand(migrateCommand, ['--grant', 'analyst'], {
    grantToAnalyst: async () => report,
  })
  expect(exit).toBe(0)
  expect(out).toContain('applied 0012_analytics\n')
  expect(out).toContain(
    'analyst can read the 2 objects for analysts, and nothing else of the warehouse\n',
  )
})

test('says what else the role could read before', async () => {
  const otherReadable = [
    'calls',
    'conversations',
    'messages',
    'sync_gaps',
    'visitors',
    'writebacks',
  ]
  const grantToAnalyst = async () => ({ ...report, otherReadable })
  const { out } = await runCommand(migrateCommand, ['--grant', 'analyst'], { grantToAnalyst })
  expect(out).toContain(
    'can also read 6 objects: calls, conversations, messages, sync_gaps, visitors, …\n',
  )
})

test('passes the name of the role on as it was written, and prints one JSON document', async () => {
  const roles: string[] = []
  const grantToAnalyst = async (_: unknown, role: string) => {
    roles.push(role)
    return { ...report, role }
  }
  const { out } = await runCommand(migrateCommand, ['--grant', ' A "b"; --', '--json'], {
    grantToAnalyst,
  })
  expect(roles).toEqual([' A "b"; --'])
  expect(JSON.parse(out)).toEqual({ ...report, role: ' A "b"; --' })
})

test('fails with the error of the warehouse', async () => {
  const grantToAnalyst = async () => {
    throw createUserError(2)
  }
  expect(
    await runCommand(migrateCommand, ['--grant', 'analyst'], { grantToAnalyst }),
  ).toMatchObject({
    exit: 2,
    out: '',
  })
})

test('is not a rebuild, and concerns all projects', async () => {
  await expect(
    runCommand(migrateCommand, ['--grant', 'analyst', '--rebuild-analytics'], {}),
  ).rejects.toThrow(/cannot be used with/)
  await expect(
    runCommand(migrateCommand, ['--grant', 'analyst', '--project', 'shop'], {}),
  ).rejects.toThrow(/cannot be used with/)
})
