{{/*
What the operator may do in a watched namespace: the verbs that it uses and no other. It makes one
Secret per object (the admin token) and reads it by name; it never lists or watches Secrets. `update`
on modelservings/finalizers is for clusters that enforce rights on blockOwnerDeletion.
*/}}
{{- define "kantha.watchRules" -}}
- apiGroups: [serving.kantha.dev]
  resources: [modelservings]
  verbs: [get, list, watch, patch]
- apiGroups: [serving.kantha.dev]
  resources: [modelservings/status]
  verbs: [patch]
- apiGroups: [serving.kantha.dev]
  resources: [modelservings/finalizers]
  verbs: [update]
- apiGroups: [""]
  resources: [pods, services, serviceaccounts, configmaps]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, create, patch]
- apiGroups: [""]
  resources: [events]
  verbs: [create, patch]
{{- end -}}
