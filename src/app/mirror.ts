/** The mirror of one project, whose discovered columns the views for analysts show. */
import { showDiscoveredColumns } from '../analytics/sql/views.ts'
import type { MirrorOptions } from '../mirror/mirror.ts'
import { createMirror } from '../mirror/sql/mirror.ts'
import type { ProjectId } from '../values/project.ts'
import type { Warehouse } from './open.ts'

export function openMirror({ projectDb }: Warehouse, project: ProjectId, options: MirrorOptions = {}) {
  return createMirror(projectDb(project), options, showDiscoveredColumns)
}
