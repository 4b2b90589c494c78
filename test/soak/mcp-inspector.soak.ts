/**
 * The inspector's command line drives every tool, over both databases. It has a hundred packages,
 * so npx fetches it for this test only.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { launcher } from '../cli/run-process.ts'
import { openMcpFixture } from '../mcp/mcp-fixture.ts'
import { databases } from '../support/databases.ts'

const run = promisify(execFile)

for (const db of databases)
  test(`the inspector drives every tool — ${db.name}`, async () => {
    const { folder, env, warehouse } = await openMcpFixture(db)
    const variables = Object.entries(env).flatMap(([name, value]) => ['-e', `${name}=${value}`])
    const inspector = [
      '--yes',
      '@modelcontextprotocol/inspector@2.12.0',
      '--cli',
      process.execPath,
      launcher,
      'mcp',
    ]
    const inspect = async (...args: readonly string[]) => {
      const { stdout } = await run('npx', [...inspector, ...variables, '--method', ...args], {
        cwd: folder,
      })
      return JSON.parse(stdout)
    }
    const [conversation] = (await warehouse.query(
      'select id from conversations order by id limit 1',
    )) as {
      id: string
    }[]
    const row = { operation: 'handled', conversation_id: conversation?.id, handled: true }
    const given: Readonly<Record<string, object>> = {
      describe: { objects: ['report_day'] },
      query: { sql: 'select count(*) as n from fct_conversation' },
      read_conversation: { id: conversation?.id },
      propose_writebacks: { rows: [row], reason: 'It is done.' },
    }
    const { tools } = await inspect('tools/list')
    expect(tools).toHaveLength(7)
    for (const { name } of tools as { name: string }[]) {
      const args = ['--tool-name', name, '--tool-args-json', JSON.stringify(given[name] ?? {})]
      const { isError, structuredContent } = await inspect('tools/call', ...args)
      expect([name, isError ?? false, structuredContent]).toEqual([name, false, expect.any(Object)])
    }
  })
