/** `dim_sender_type`: the role of every sender type that an utterance ever had, so that people see the guesses. */
import { sql } from 'kysely'
import type { AnalyticsSettings } from '../../core/analytics/analytics-settings.ts'
import { createRoleOfSender, type RoleOfSender, senderTypeRows } from '../../core/analytics/sender-roles.ts'
import { inList } from '../database/dialect.ts'
import type { ProjectDb } from '../database/project-db.ts'
import { insertRows, replaceRows } from './fact-rows.ts'

/** Longer values are no names of types, and an index could not hold them. */
const maxLength = 200

/** Roles by the settings. `store`: adds the sender types that were asked for since. */
export function createSenderTypes({ roles }: Pick<AnalyticsSettings, 'roles'>): {
  readonly roleOf: RoleOfSender
  readonly store: (trx: ProjectDb) => Promise<void>
} {
  const roleOf = createRoleOfSender(roles)
  const seen = new Set<string>()
  return {
    roleOf: (senderType) => {
      if (senderType !== null) seen.add(senderType)
      return roleOf(senderType)
    },
    store: async (trx) => {
      const senderTypes = [...seen].filter(({ length }) => length <= maxLength)
      const known = new Set(await listSenderTypes(trx, senderTypes))
      const added = senderTypes.filter((senderType) => !known.has(senderType))
      await insertRows(trx, 'dim_sender_type', senderTypeRows(added, roles))
    },
  }
}

/** The settings changed: gives all known sender types their roles. */
export async function replaceSenderRoles(trx: ProjectDb, { roles }: Pick<AnalyticsSettings, 'roles'>): Promise<void> {
  const senderTypes = await listSenderTypes(trx)
  await replaceRows(trx, 'dim_sender_type', senderTypeRows(senderTypes, roles))
}

/** `among`: only these. */
async function listSenderTypes({ db, kind, project }: ProjectDb, among?: readonly string[]): Promise<string[]> {
  const condition = among === undefined ? sql`` : sql`and sender_type ${inList(kind, among)}`
  const { rows } = await sql<{ type: string }>`
    select sender_type as type from dim_sender_type where project_id = ${project} ${condition}
    order by sender_type`.execute(db)
  return rows.map(({ type }) => type)
}
