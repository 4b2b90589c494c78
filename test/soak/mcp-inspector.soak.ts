/** The inspector's command line drives every tool, over both databases. It has a hundred packages, so npx fetches it for this test only. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { cleanEnvironment, launcher } from '../cli/run-process.ts'
import { openMcpFixture } from '../mcp/mcp-fixture.ts'
import { databases } from '../support/databases.ts'

const run = promisify(execFile)
const inspector = ['--yes', '@modelcontextprotocol/inspector@2.12.0', '--cli', process.execPath, launcher, 'mcp']

for (const db of databases)
  test(`the inspector drives every tool — ${db.name}`, async () => {
    const { folder, env, warehouse } = await openMcpFixture(db)
    const [conversation] = (await warehouse.query('select id from conversations order by id limit 1')) as {
      id: string
    }[]
    const inspect = async (...args: readonly string[]) => {
      const options = { cwd: folder, env: { ...cleanEnvironment(env), HOME: process.env['HOME'] ?? '' } }
      return JSON.parse((await run('npx', [...inspector, '--method', ...args], options)).stdout)
    }
    const row = { operation: 'handled', conversation_id: conversation?.id, handled: true }
    const given: Readonly<Record<string, readonly string[]>> = {
      describe: ['objects=["report_day"]'],
      query: ['sql=select count(*) as n from fct_conversation'],
      read_conversation: [`id=${conversation?.id}`],
      propose_writebacks: [`rows=${JSON.stringify([row])}`, 'reason=It is done.'],
    }
    const { tools } = await inspect('tools/list')
    expect(tools).toHaveLength(7)
    for (const { name } of tools as { name: string }[]) {
      const args = (given[name] ?? []).flatMap((arg) => ['--tool-arg', arg])
      const { isError, structuredContent } = await inspect('tools/call', '--tool-name', name, ...args)
      expect([name, isError ?? false, structuredContent]).toEqual([name, false, expect.any(Object)])
    }
  })
