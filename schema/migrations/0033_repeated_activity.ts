/** Entries of activity with an id of their own that an older version stored twice, alike: the first stays. */
import type { DatabaseKind } from '../column-types.ts'
import type { Run } from '../create-missing.ts'

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
