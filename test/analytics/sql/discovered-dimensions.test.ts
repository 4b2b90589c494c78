/**
 * Undocumented fields of visitors, conversations and calls are columns of the views for analysts,
 * too.
 */
import { expect, test } from 'vitest'
import { databases } from '../../support/databases.ts'
import { createTestOnOne } from '../../support/sampled.ts'
import { call, commit, conversation, visitor } from '../../warehouse/row-fixtures.ts'
import { openTestWarehouse } from '../../warehouse/test-warehouse.ts'
import { factsOf, settings } from './facts-settings.ts'

const testOnOne = createTestOnOne()

const fields = {
  plan: 'pro',
  vip: true,
  score: 1.5,
  seats: 3,
  since: '2026-01-01T02:00:00+02:00',
  company: { country: 'NO' },
  'odd "name': 'x',
  // Names that dim_visitor has itself.
  conversations: 'many',
}
const shown = {
  plan: 'pro',
  vip: 'true',
  score: '1.5',
  seats: '3',
  since: '2026-01-01T00:00:00Z',
  company__country: 'NO',
  odd_name: 'x',
  field_conversations: 'many',
}

for (const db of databases) {
  const open = async (personalData = true) => {
    const opened = await openTestWarehouse(db)
    await opened.mirror.startRun('full', Date.UTC(2026, 0, 1))
    await factsOf(opened.warehouse, { ...settings, personalData }).refresh()
    return opened
  }

  testOnOne(db.name, `each field is a text, under a name that is free — ${db.name}`, async () => {
    const { mirror, one } = await open()
    await mirror.commit(commit('visitors', [visitor('v1', fields)]))
    await mirror.commit(commit('conversations', [conversation('c1', {}, { plan: 'gold' })]))
    await mirror.commit(commit('calls', [call('k1', {}, { plan: 'phone', outcome: 'busy' })]))
    expect(await one('select * from dim_visitor')).toMatchObject({
      visitor_id: 'v1',
      conversations: 0,
      ...shown,
    })
    expect(await one('select * from dim_conversation')).toEqual({
      project_id: 'main',
      conversation_id: 'c1',
      plan: 'gold',
    })
    expect(await one('select plan, outcome from fct_call')).toEqual({
      plan: 'phone',
      outcome: 'busy',
    })
  })

  testOnOne(
    db.name,
    `it stays a text of one name while its values change their type — ${db.name}`,
    async () => {
      const { mirror, list } = await open()
      for (const [n, score] of [true, 1, 1.5, 'high'].entries())
        await mirror.commit(commit('visitors', [visitor(`v${n}`, { score })]))
      expect(await list('select score from dim_visitor order by visitor_id')).toEqual([
        'true',
        '1',
        '1.5',
        'high',
      ])
      await mirror.commit(commit('visitors', [visitor('v9', { score: 'low', plan: 'free' })]))
      expect(await list("select plan from dim_visitor where score = 'low'")).toEqual(['free'])
    },
  )

  testOnOne(
    db.name,
    `fields are left out with personal data, as nobody knows what they hold — ${db.name}`,
    async () => {
      const { mirror, one } = await open(false)
      await mirror.commit(commit('visitors', [visitor('v1', fields)]))
      expect(await one('select plan, vip from dim_visitor')).toEqual({ plan: null, vip: null })
    },
  )

  testOnOne(
    db.name,
    `a newer version shows the fields that were found before — ${db.name}`,
    async () => {
      const { mirror, list, database } = await open()
      await mirror.commit(commit('visitors', [visitor('v1', { plan: 'pro' })]))
      const names = await list('select name from sync_views')
      await list('drop view sync_views')
      const registry = names.map((name) => `select '${name}' as name, 'older' as fingerprint`)
      await list(`create view sync_views as ${registry.join(' union all ')}`)
      await database.open()
      expect(await list('select plan from dim_visitor')).toEqual(['pro'])
      expect(await list('select distinct fingerprint from sync_views')).not.toEqual(['older'])
    },
  )
}

for (const db of databases.filter(({ name }) => name === 'postgres')) {
  test(`a new field keeps the rights on the view, and views of users that read it — ${db.name}`, async () => {
    const { mirror, list } = await openTestWarehouse(db)
    await mirror.commit(commit('visitors', [visitor('v1', { plan: 1 })]))
    await list('grant select on dim_visitor to public')
    await list('create view mine as select plan from dim_visitor')
    await mirror.commit(commit('visitors', [visitor('v2', { plan: 'pro', country: 'NO' })]))
    expect(
      await list("select relacl::text from pg_class where oid = 'dim_visitor'::regclass"),
    ).toEqual([expect.stringContaining('=r/')])
    expect(await list('select plan from mine order by plan')).toHaveLength(2)
  })
}
