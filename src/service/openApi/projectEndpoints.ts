import * as z from "zod/mini";
import type { Endpoint } from "./endpoint.ts";

const name = { name: "The project's name." };

export const projectEndpoints: readonly Endpoint[] = [
  {
    method: "get",
    path: "/api/pipelines",
    group: "projects",
    summary: "The pipelines in the projects' folders, also the broken ones",
    access: "every role",
    query: z.object({ project: z.optional(z.string()) }),
    reply: {
      status: 200,
      description: "The pipelines; `problem` says what is wrong with a file, with its line.",
      content: { kind: "json", schema: "PipelineList" },
    },
  },
  {
    method: "get",
    path: "/api/projects",
    group: "projects",
    summary: "The org's projects and their folders",
    access: "every role",
    reply: {
      status: 200,
      description: "The projects by name.",
      content: { kind: "json", schema: "ProjectList" },
    },
  },
  {
    method: "put",
    path: "/api/projects/{name}",
    group: "projects",
    summary: "Makes a folder of this machine known as a project",
    description: "A second folder of the same name gets another name, which the reply tells.",
    access: "members",
    parts: name,
    body: "ProjectRequest",
    reply: {
      status: 200,
      description: "The project under the name that it now has.",
      content: { kind: "json", schema: "Project" },
    },
  },
  {
    method: "delete",
    path: "/api/projects/{name}",
    group: "projects",
    summary: "Forgets a project; its runs and its files stay",
    access: "members",
    parts: name,
    reply: {
      status: 200,
      description: "The project as it was.",
      content: { kind: "json", schema: "Project" },
    },
    errors: ["not-found", "conflict"],
  },
];
