/**
 * The questions that docs/analytics.md answers, asked by an assistant that has only `describe` and
 * `query`.
 */
import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import type { McpClient } from './mcp-client.ts'

const document = readFileSync(new URL('../../docs/analytics.md', import.meta.url), 'utf8')
const sections = [...document.matchAll(/^## (.*\?)\n+```sql\n([\s\S]*?)```/gm)]
const questions = sections
  .map(([, title = '', sql = '']) => ({ title, sql }))
  // One is about an undocumented field that the sandbox does not have, and one about a table that
  // analysts may not read.
  .filter(({ sql }) => !/\b(plan|analytics_metrics)\b/.test(sql))

/** The questions that have rows as their answer. The dictionary describes what each reads. */
export async function askQuestions(mcp: McpClient): Promise<readonly string[]> {
  const list = await mcp.call('describe')
  const known: readonly string[] = list.data.objects.map(({ name }: { name: string }) => name)
  const answered: string[] = []
  for (const { title, sql } of questions) {
    const objects = [...new Set(sql.match(/\b(dim|fct|report)_\w+/g))].filter((name) =>
      known.includes(name),
    )
    const { data } = await mcp.call('describe', { objects })
    const columns: { name: string }[] = data.objects.flatMap(
      (object: { columns: object[] }) => object.columns,
    )
    const used = columns.filter(({ name }) => new RegExp(`\\b${name}\\b`).test(sql))
    expect([title, used.length > 1]).toEqual([title, true])
    const { isError, text, data: answer } = await mcp.call('query', { sql })
    expect([title, isError, isError ? text : '']).toEqual([title, false, ''])
    if (answer.rows.length > 0) answered.push(title)
  }
  return answered
}
