/** Every tool, asked by the protocol's official client over standard input and output — on both databases. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databases } from '../support/databases.ts'
import type { McpClient } from './mcp-client.ts'
import { type McpFixture, openMcpFixture } from './mcp-fixture.ts'

for (const db of databases) {
  describe(`an assistant — ${db.name}`, () => {
    let fixture: McpFixture
    let mcp: McpClient
    const ended: (() => unknown)[] = []
    beforeAll(async () => {
      fixture = await openMcpFixture(db, (work) => void ended.unshift(work))
      mcp = await fixture.connect()
    })
    afterAll(async () => {
      for (const end of ended) await end()
    })

    test('is offered few tools, each with what goes in and what comes out', async () => {
      const { tools } = await mcp.client.listTools()
      expect(tools.map(({ name }) => name)).toEqual(['describe', 'query'])
      for (const { inputSchema, outputSchema, description } of tools)
        expect([inputSchema.type, outputSchema?.type, description?.length]).toEqual([
          'object',
          'object',
          expect.any(Number),
        ])
    })

    test('describe lists what query can read, and what one of them means', async () => {
      const list = await mcp.call('describe')
      expect(list.data).toMatchObject({ database: db.name, projectId: fixture.service.projectId, gaps: [] })
      const { data } = await mcp.call('describe', { objects: ['report_day', 'fct_wait'] })
      expect(data.objects.map(({ name }: { name: string }) => name).toSorted()).toEqual(['fct_wait', 'report_day'])
      const all = list.data.objects.map(({ name }: { name: string }) => `(select count(*) from ${name})`)
      const counted = await mcp.call('query', { sql: `select ${all.join(', ')}` })
      expect([counted.isError, counted.text]).toEqual([false, expect.any(String)])
    })

    test('query answers with columns and rows, and explains an error', async () => {
      const { data } = await mcp.call('query', { sql: 'select count(*) as n, null as empty from fct_conversation;' })
      expect(data).toEqual({ columns: ['n', 'empty'], rows: [[40, null]], cut: null })
      const { text, isError } = await mcp.call('query', { sql: 'select nope from fct_conversation' })
      expect([isError, text]).toEqual([
        true,
        expect.stringMatching(/the statement did not run: .*nope.*\n.*`describe`/),
      ])
    })

    test('each call is a row of the audit log, without texts', async () => {
      const rows = await fixture.warehouse.query(
        `select person, role, action, subject, detail from console_events where subject = 'query' order by id desc limit 1`,
      )
      expect(rows).toEqual([
        {
          ...{ person: 'ann via Claude', role: 'assistant', action: 'assistant_asked', subject: 'query' },
          detail: expect.stringMatching(/^\d+ bytes asked, \d+ answered with an error, \d+ ms$/),
        },
      ])
    })
  })
}
