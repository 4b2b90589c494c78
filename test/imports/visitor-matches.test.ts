/**
 * Whose conversation a row of a sheet is for, by address or exact name: certain, or refused with
 * the candidates.
 */

import { expect, test } from 'vitest'
import { openMirror } from '../../src/app/facts.ts'
import { findVisitorConversations } from '../../src/imports/sql/visitor-matches.ts'
import { createColumnRules, noColumnRules } from '../../src/values/private-columns.ts'
import { secret } from '../../src/values/secret.ts'
import { databases } from '../support/databases.ts'
import { commit, conversation, visitor } from '../warehouse/row-fixtures.ts'
import { openTestWarehouse } from '../warehouse/test-warehouse.ts'

for (const db of databases)
  test(`an address or a name must lead to one conversation — ${db.name}`, async () => {
    const { warehouse } = await openTestWarehouse(db)
    const main = openMirror(warehouse, 'main')
    const people = [
      visitor('ada', {}, { name: 'Ada Lovelace', email: 'Ada@Example.com' }),
      visitor('max1', {}, { name: 'Max Muster', email: 'max@example.com' }),
      visitor('max2', {}, { name: 'Max Muster', email: 'muster@example.com' }),
      visitor('new', {}, { name: 'New', email: 'new@example.com' }),
    ]
    await main.commit(commit('visitors', people))
    const handled = { handled_at: '2026-01-02T00:00:00Z', last_message_at: '2026-01-01T12:00:00Z' }
    const conversations = [
      conversation('ada-old', { visitor_id: 'ada', ...handled }),
      conversation('ada-open', { visitor_id: 'ada', handled_at: null }),
      conversation('max1-one', { visitor_id: 'max1', ...handled }),
      conversation('max1-two', { visitor_id: 'max1', ...handled }),
      conversation('max2-open', { visitor_id: 'max2', handled_at: null }),
    ]
    await main.commit(commit('conversations', conversations))
    const find = async (email: string | null, name: string | null, columns = noColumnRules) => {
      const [match] = await findVisitorConversations(
        warehouse.projectDb('main'),
        [{ email, name }],
        columns,
      )
      if (match === undefined) return match
      return 'mistake' in match
        ? `${match.mistake.why}: ${match.mistake.found}`
        : match.conversationId
    }
    expect(await find('ada@example.COM', null)).toBe('ada-open')
    expect(await find(null, 'Ada Lovelace')).toBe('ada-open')
    expect(await find(null, 'ada lovelace')).toMatch(/^no visitor has exactly this name/)
    expect(await find('nobody@example.com', 'Ada Lovelace')).toMatch(/^no visitor has this address/)
    expect(await find('new@example.com', null)).toMatch(/^this visitor has no conversation/)
    const several = await find('max@example.com', null)
    expect(several).toMatch(/^several conversations could be meant/)
    expect(several).toContain('max1-one Max Muster, handled, last 2026-01-01 12:00')
    expect(several).toContain('max1-two')
    // The one with the open conversation need not be the one who is meant.
    expect(await find(null, 'Max Muster')).toMatch(
      /several conversations.*: Max Muster: max2-open .* · max1-one /,
    )
    const path = 'email'
    const hashed = createColumnRules([{ stream: 'visitors', path, action: 'hash' }], key)
    expect(await find('ada@example.com', null, hashed)).toMatch(/^no visitor has this address/)
    await warehouse.query(`update visitors
      set email = '${hashed.storedText('visitors', 'email', 'ada@example.com')}' where id = 'ada'`)
    expect(await find(' Ada@example.com', null, hashed)).toBe('ada-open')
    const blocked = createColumnRules([{ stream: 'visitors', path, action: 'block' }], null)
    expect(await find('max@example.com', null, blocked)).toMatch(
      /^nobody can be found by it, because `columns` blocks visitors.email/,
    )
  })

const key = secret('a key of the installation')

test('many addresses are found among many visitors', async () => {
  const { warehouse } = await openTestWarehouse(databases[0])
  await warehouse.query(`insert into visitors (project_id, id, email, raw, synced_at, asked_at)
    with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000)
    select 'main', 'v' || i, 'Person' || i || '@example.com', '{}', '2026-01-01T00:00:00Z', 1 from n`)
  const sought = Array.from({ length: 400 }, (_, n) => ({
    email: `person${4 * n + 4}@example.com`,
    name: null,
  }))
  const matches = await findVisitorConversations(warehouse.projectDb('main'), sought, noColumnRules)
  expect(new Set(matches.map((match) => 'mistake' in match && match.mistake.why))).toEqual(
    new Set(['this visitor has no conversation']),
  )
})
