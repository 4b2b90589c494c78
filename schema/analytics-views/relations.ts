/**
 * Which column leads to which object. A column of the same name means the same everywhere, so names are enough. The
 * database has no foreign keys for them: views have no keys, and a conversation may outlive its visitor.
 */

export type Relation = { readonly object: string; readonly column: string }

const targets: Readonly<Record<string, Relation>> = {
  project_id: { object: 'dim_project', column: 'project_id' },
  conversation_id: { object: 'fct_conversation', column: 'conversation_id' },
  visitor_id: { object: 'dim_visitor', column: 'visitor_id' },
  assigned_agent_id: { object: 'dim_agent', column: 'agent_id' },
  call_id: { object: 'fct_call', column: 'call_id' },
  sla: { object: 'dim_sla', column: 'name' },
}

/** Null: the column leads nowhere, or the object is the target itself. */
export function relationOf(object: string, column: string): Relation | null {
  const target = targets[column] ?? relationByEnding(column)
  return target === null || target.object === object ? null : target
}

function relationByEnding(column: string): Relation | null {
  if (/(^|_)date$/.test(column)) return { object: 'dim_date', column: 'date' }
  // A rate, such as answers per agent hour, is no hour of the day.
  if (/(^|_)hour$/.test(column) && !column.includes('_per_')) return { object: 'dim_hour', column: 'hour' }
  return null
}
