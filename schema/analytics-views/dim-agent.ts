/** Agents: the ids that conversations are assigned to, and the names that probably belong to them. */
import type { AnalyticsView } from './analytics-view.ts'
import { count, key, projectId, share, text } from './view-columns.ts'

export const dimAgent: AnalyticsView = {
  note: 'One row for each agent to whom a conversation is assigned in which a human wrote, with the likely name.',
  caveat:
    'The service shows no list of agents: the name is that of the last human message in most of the conversations of this id, and name_share says in how many.',
  key: ['project_id', 'agent_id'],
  columns: {
    project_id: projectId,
    agent_id: key('the id that conversations are assigned to'),
    likely_name: text('the name that most of these conversations end with'),
    name_share: share('share of the conversations that show this name'),
    conversations: count('conversations assigned to the agent now, in which a human wrote'),
  },
  select: () => `
    select project_id, agent_id, name as likely_name,
      cast(conversations_with_name as double precision) / conversations as name_share,
      cast(conversations as bigint) as conversations
    from (
      select project_id, agent_id, name, conversations_with_name,
        sum(conversations_with_name) over (partition by project_id, agent_id) as conversations,
        row_number() over (partition by project_id, agent_id order by conversations_with_name desc, name) as place
      from (
        select project_id, assigned_agent_id as agent_id, last_human_name as name, count(*) as conversations_with_name
        from fct_conversation
        where assigned_agent_id is not null and last_human_name is not null and last_human_name <> ''
        group by project_id, assigned_agent_id, last_human_name
      ) names
    ) ranked
    where place = 1`,
}
