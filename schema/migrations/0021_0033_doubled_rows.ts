/** Rows that are stored twice are joined: those that other letters of an id doubled, and repeated entries of activity. */
import { columnTypes, type DatabaseKind } from '../column-types.ts'
import type { Run } from '../create-missing.ts'

/** They had the time of the deletion in no column. */
export async function dropDeletionIndexes(run: Run): Promise<void> {
  for (const table of Object.keys(lists)) await run(`drop index if exists ${table}_deleted`)
}

/** By list: the table and key of its children, their stream, and what else names its rows. */
const lists = {
  conversations: {
    child: 'message_rows',
    stream: 'messages',
    parent: 'conversation_id',
    key: ['id'],
    references: ['conversation_changes'],
  },
  visitors: {
    child: 'visitor_activity',
    stream: 'visitor_activity',
    parent: 'visitor_id',
    key: ['entry_hash', 'ordinal'],
    references: ['conversations'],
  },
  calls: { child: 'call_recordings', stream: 'call_recordings', parent: 'call_id', key: [], references: [] },
} as const

/** The spelling that was read last stays; it gets the children that only others have, and is read again. */
export async function joinDoubledRows(run: Run, kind: DatabaseKind): Promise<void> {
  // A gap says so now.
  await run(`delete from sync_cursors where stream like '%:doubted'`)
  const [key, integer] = [columnTypes.key[kind], columnTypes.integer[kind]]
  for (const [table, list] of Object.entries(lists)) {
    await run(`create table doubled_ids (project_id ${key} not null, id ${key} not null, kept ${key} not null,
      place ${integer} not null, primary key (project_id, id))`)
    await run(`insert into doubled_ids select project_id, id, kept, place from (
      select project_id, id, first_value(id) over same_id as kept, row_number() over same_id as place from ${table}
      where id like '________-____-____-____-____________'
      window same_id as (partition by project_id, lower(id)
        order by case when deleted_at is null then 0 else 1 end, asked_at desc, id)) as spelled where place > 1`)
    const places = await run('select distinct place from doubled_ids order by place')
    // One spelling after the other, so that no two bring the same child.
    for (const { place } of places) await joinChildren(list, Number(place), run)
    if (places.length > 0) await joinParents(table, list, kind, run)
    await run('drop table doubled_ids')
  }
}

type List = (typeof lists)[keyof typeof lists]

async function joinChildren({ child, parent, key }: List, place: number, run: Run) {
  const doubled = `from doubled_ids where doubled_ids.project_id = ${child}.project_id and doubled_ids.id = ${child}.${parent}
    and place = ${place}`
  const kept = `(select kept ${doubled})`
  const sameKey = key.map((name) => ` and other.${name} = ${child}.${name}`).join('')
  await run(`update ${child} set ${parent} = ${kept} where exists (select 1 ${doubled}) and not exists (
    select 1 from ${child} as other
    where other.project_id = ${child}.project_id and other.${parent} = ${kept}${sameKey})`)
  await run(`delete from ${child} where exists (select 1 ${doubled})`)
}

async function joinParents(table: string, list: List, kind: DatabaseKind, run: Run) {
  const { stream, parent, references } = list
  for (const other of references) {
    const doubled = `from doubled_ids where doubled_ids.project_id = ${other}.project_id and doubled_ids.id = ${other}.${parent}`
    await run(`update ${other} set ${parent} = (select kept ${doubled}) where exists (select 1 ${doubled})`)
  }
  const of = (name: string, column: string) => `exists (select 1 from doubled_ids
    where doubled_ids.project_id = ${name}.project_id and ${column})`
  const isOfStream = `stream = '${stream}'`
  await run(
    `update sync_children set whole = 1, due_at = 1 where ${isOfStream} and ${of('sync_children', 'kept = parent_id')}`,
  )
  await run(`delete from sync_children where ${isOfStream} and ${of('sync_children', 'doubled_ids.id = parent_id')}`)
  const now = kind === 'sqlite' ? `strftime('%Y-%m-%dT%H:%M:%SZ', 'now')` : 'now()'
  await run(`update sync_gaps set resolved_at = ${now} where ${isOfStream} and resolved_at is null
    and ${of('sync_gaps', `subject in ('parent:' || doubled_ids.id, 'parent:' || doubled_ids.id || ':unread')`)}`)
  await run(`delete from ${table} where ${of(table, `doubled_ids.id = ${table}.id`)}`)
  const fact = { conversations: 'conversation', visitors: 'visitor' }[table]
  if (fact === undefined) return
  for (const id of ['id', 'kept'])
    await run(`insert into facts_due (project_id, kind, id) select project_id, '${fact}', ${id} from doubled_ids
      where true on conflict do nothing`)
}

/** Entries of activity with an id of their own that an older version stored twice, alike: the first stays. */
const ids = "'id', 'entryid', 'activityid', 'uuid'"
/** As `entryId` in the program finds it. */
const hasId = {
  sqlite: `exists (select 1 from json_each(v.raw) where lower(replace(key, '_', '')) in (${ids})
    and type in ('text', 'integer', 'real') and value <> '')`,
  postgres: `exists (select 1 from jsonb_each(case when jsonb_typeof(v.raw) = 'object' then v.raw else '{}' end) as field where lower(replace(field.key, '_', '')) in (${ids})
    and jsonb_typeof(field.value) in ('string', 'number') and field.value <> '""')`,
} as const satisfies Record<DatabaseKind, string>

const key = 'project_id, visitor_id, entry_hash'
const sameKey = (one: string, other: string) =>
  key
    .split(', ')
    .map((column) => `${one}.${column} = ${other}.${column}`)
    .join(' and ')

export async function joinRepeatedActivity(run: Run, kind: DatabaseKind): Promise<void> {
  const statements = [
    `create table repeated_activity as select ${key}, ordinal from visitor_activity v where ordinal > 0
      and exists (select 1 from visitor_activity before where ${sameKey('before', 'v')}
        and before.ordinal < v.ordinal and before.raw = v.raw)
      and ${hasId[kind]}`,
    `delete from visitor_activity where (${key}, ordinal) in (select ${key}, ordinal from repeated_activity)`,
    // By way of negative numbers, as a number is taken only once.
    `update visitor_activity set ordinal = -1 - numbered.number
      from (select ${key}, ordinal, row_number() over (partition by ${key} order by ordinal) - 1 as number
        from visitor_activity where (${key}) in (select ${key} from repeated_activity)) as numbered
      where ${sameKey('visitor_activity', 'numbered')} and visitor_activity.ordinal = numbered.ordinal`,
    'update visitor_activity set ordinal = -1 - ordinal where ordinal < 0',
    `insert into facts_due (project_id, kind, id) select distinct project_id, 'visitor', visitor_id
      from repeated_activity where true on conflict do nothing`,
    'drop table repeated_activity',
  ]
  for (const statement of statements) await run(statement)
}
