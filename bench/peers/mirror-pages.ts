/** Mirrors pages as a sync does: parses, checks and commits each with its cursor. */

import { openMirror } from '../../src/app/facts.ts'
import { openWarehouse } from '../../src/app/open.ts'
import { conversations, messages } from '../../src/mirror/core/streams.ts'
import type { Json } from '../../src/values/json.ts'
import { noColumnRules } from '../../src/values/private-columns.ts'
import { itemsOf, type Pages } from './pages.ts'

/** Seconds. `concurrency`: pages under way at once; a sync reads 16 conversations side by side. */
export async function mirrorPages(
  databaseUrl: string,
  { project, list, pages }: Pages,
  concurrency: number,
): Promise<number> {
  const warehouse = await openWarehouse(databaseUrl)
  const { commit } = openMirror(warehouse, project)
  await commit({
    stream: 'conversations',
    rows: conversations.parseRows(list.map(stored), project).rows,
    requestedAt: Date.now(),
  })
  const left = pages.values()
  const mirror = async () => {
    for (const { parent, body } of left) {
      const { rows } = messages.parseRows((await itemsOf(body)).map(stored), parent)
      const end = {
        parentId: parent,
        requestedVersion: 1,
        cursor: null,
        completeness: 'complete',
        dueAt: null,
      } as const
      await commit({
        stream: 'messages',
        rows,
        requestedAt: Date.now(),
        childRead: { stream: 'messages', ...end },
      })
    }
  }
  const began = performance.now()
  await Promise.all(Array.from({ length: concurrency }, mirror))
  const seconds = (performance.now() - began) / 1000
  await warehouse.close()
  return seconds
}

const stored = (item: Json) => noColumnRules.keep('', item)
