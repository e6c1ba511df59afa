{{/*
The name of everything in the release's namespace, at most 50 characters: <release>-kantha-operator,
without repeating what the release is called already. A Service's name begins with a letter, so that a
digit gets the word in front. Too long: cut, with a hash that keeps two apart.
*/}}
{{- define "kantha.fullname" -}}
{{- $name := printf "%s-kantha-operator" .Release.Name -}}
{{- if .Values.fullnameOverride -}}
{{- $name = .Values.fullnameOverride -}}
{{- else if contains "kantha-operator" .Release.Name -}}
{{- $name = .Release.Name -}}
{{- else if contains "kantha" .Release.Name -}}
{{- $name = printf "%s-operator" .Release.Name -}}
{{- end -}}
{{- $name = $name | replace "." "-" -}}
{{- if not (regexMatch "^[a-z]" $name) -}}
{{- $name = printf "kantha-operator-%s" (trimSuffix "-kantha-operator" $name) -}}
{{- end -}}
{{- if gt (len $name) 50 -}}
{{- $name = printf "%s-%s" ($name | trunc 41 | trimSuffix "-") (sha256sum $name | trunc 8) -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{- define "kantha.serviceAccountName" -}}
{{- if .Values.serviceAccount.name -}}
{{- .Values.serviceAccount.name -}}
{{- else if .Values.serviceAccount.create -}}
{{- include "kantha.fullname" . -}}
{{- else -}}
default
{{- end -}}
{{- end -}}

{{- define "kantha.leaseName" -}}
{{- .Values.leaderElection.leaseName | default (include "kantha.fullname" .) -}}
{{- end -}}

{{/* Roles have this name in every watched namespace: two releases cannot both make one. */}}
{{- define "kantha.watchRoleName" -}}
kantha-operator
{{- end -}}

{{/* Who made the roles: what the check of ownership reads. */}}
{{- define "kantha.release" -}}
{{- printf "%s/%s" .Release.Namespace .Release.Name -}}
{{- end -}}

{{- define "kantha.uninstallName" -}}
{{- printf "%s-uninstall" (include "kantha.fullname" .) -}}
{{- end -}}

{{/* Of the pod that runs before an uninstall: no Service and no selector of the operator's has it. */}}
{{- define "kantha.uninstallLabels" -}}
app.kubernetes.io/name: kantha-uninstall
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/* Annotations of what is there only before an uninstall; the argument is its weight. */}}
{{- define "kantha.uninstallHook" -}}
helm.sh/hook: pre-delete
helm.sh/hook-weight: {{ . | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}

{{/* Never changes in a release's life: Deployments refuse another selector. */}}
{{- define "kantha.selectorLabels" -}}
app.kubernetes.io/name: kantha-operator
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "kantha.labels" -}}
{{- $own := dict
  "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63)
  "app.kubernetes.io/version" .Chart.AppVersion
  "app.kubernetes.io/managed-by" .Release.Service
  "app.kubernetes.io/part-of" "kantha" -}}
{{- $selector := include "kantha.selectorLabels" . | fromYaml -}}
{{- mergeOverwrite (dict) (.Values.commonLabels | default dict) $own $selector | toYaml -}}
{{- end -}}

{{- define "kantha.podLabels" -}}
{{- $labels := include "kantha.labels" . | fromYaml -}}
{{- mergeOverwrite (dict) (.Values.podLabels | default dict) $labels | toYaml -}}
{{- end -}}

{{/* One image reference: (list $ "noded"). A digest wins over a tag, which defaults to appVersion. */}}
{{- define "kantha.image" -}}
{{- $root := index . 0 -}}
{{- $image := index $root.Values.images (index . 1) -}}
{{- $name := $image.repository -}}
{{- with $root.Values.images.registry -}}
{{- $name = printf "%s/%s" (trimSuffix "/" .) $name -}}
{{- end -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $name $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $name ($image.tag | default $root.Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{/* Egress rules to DNS (some clouds give the API server as a name) and to the API server. */}}
{{- define "kantha.apiServerEgress" -}}
{{- with .Values.networkPolicy.operator -}}
- ports:
    - port: 53
      protocol: UDP
    - port: 53
      protocol: TCP
- ports:
    {{- range .apiServerPorts }}
    - port: {{ . }}
      protocol: TCP
    {{- end }}
  {{- with .apiServerCidrs }}
  to:
    {{- range . }}
    - ipBlock:
        cidr: {{ . | quote }}
    {{- end }}
  {{- end }}
{{- end -}}
{{- end -}}

{{/* The Secret with the serving certificate of the metrics API. */}}
{{- define "kantha.metricsSecretName" -}}
{{- .Values.metricsApi.secretName | default (printf "%s-metrics-tls" (include "kantha.fullname" .)) -}}
{{- end -}}

{{/* The activators: their Deployment, Service, Secret, budget, policy and role. */}}
{{- define "kantha.activatorName" -}}
{{- printf "%s-activator" (include "kantha.fullname" .) -}}
{{- end -}}

{{/* None of the operator's selectors has it. */}}
{{- define "kantha.activatorSelector" -}}
app.kubernetes.io/name: kantha-activator
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "kantha.activatorLabels" -}}
{{- $labels := include "kantha.labels" . | fromYaml -}}
{{- mergeOverwrite (dict) $labels (include "kantha.activatorSelector" . | fromYaml) | toYaml -}}
{{- end -}}
